"""What must come out: SQL over the events that were sent, by DuckDB. Nothing here knows Headwater.

Two rules say what the words of the pipeline mean. An event that is sent twice counts once. Events from
before the opening are a day late: no watermark waits for them, and they are sent once it has passed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import duckdb
import pyarrow as pa

from headwater.templates.shop.feed import Event

INPUTS: Final = """
CREATE TABLE readable AS
    SELECT number, topic, key, value::JSON AS value, moment AS "at"
    FROM (SELECT *, CASE WHEN json_valid(value) THEN TRY_CAST(value->>'$.at' AS TIMESTAMP) END AS moment
          FROM sent WHERE topic <> 'shop.customers')
    WHERE moment IS NOT NULL;
CREATE TABLE orders AS
    SELECT DISTINCT ON (id) value->>'$.id' AS id, (value->>'$.customer')::BIGINT AS customer,
        value->>'$.product' AS product, (value->>'$.quantity')::INT AS quantity,
        (value->>'$.total')::DECIMAL(10, 2) AS total, "at"
    FROM readable, opening WHERE topic = 'shop.orders' AND "at" > opened_at - INTERVAL 1 HOUR;
CREATE TABLE payments AS
    SELECT DISTINCT ON (id) value->>'$.id' AS id, value->>'$.order_id' AS order_id,
        (value->>'$.amount')::DECIMAL(10, 2) AS amount, "at"
    FROM readable, opening WHERE topic = 'shop.payments' AND "at" > opened_at - INTERVAL 1 HOUR;
CREATE TABLE searches AS
    SELECT value->>'$.id' AS id, value->>'$.phrase' AS phrase, "at"
    FROM readable WHERE topic = 'shop.searches';
CREATE TABLE clicks AS
    SELECT DISTINCT ON (id) value->>'$.id' AS id, value->>'$.search' AS search,
        value->>'$.product' AS product, "at"
    FROM readable WHERE topic = 'shop.clicks';
CREATE TABLE customers AS
    SELECT (last->>'$.id')::BIGINT AS id, last->>'$.city' AS city
    FROM (SELECT arg_max_null(value, number)::JSON AS last
          FROM sent WHERE topic = 'shop.customers' GROUP BY key)
    WHERE last IS NOT NULL;
CREATE TABLE priced AS
    SELECT orders.id, customer, coalesce(city, 'unknown') AS city, product, quantity, total, "at"
    FROM orders LEFT JOIN customers ON customers.id = customer;
"""

EXPECTED: Final = {
    "sales": "SELECT * FROM priced WHERE total > 0",
    "sales.quarantine": "SELECT * FROM priced WHERE total <= 0",
    "receipts": "SELECT * FROM payments",
    "clicked": """
        SELECT clicks.id, search, phrase, product, clicks."at" AS "at"
        FROM clicks JOIN searches ON searches.id = search
        WHERE clicks."at" BETWEEN searches."at" AND searches."at" + INTERVAL 5 MINUTES""",
    "revenue": """
        SELECT date_trunc('minute', "at") AS minute, minute + INTERVAL 1 MINUTE AS minute_end,
            sum(amount)::DECIMAL(20, 2) AS total, count(*) AS payments
        FROM payments GROUP BY minute""",
    "top_sellers": """
        SELECT city, product, sum(quantity)::BIGINT AS sold, sum(total)::DECIMAL(20, 2) AS total
        FROM sales GROUP BY city, product""",
    "click_through": """
        SELECT phrase, count(*) AS searches,
            (SELECT count(*) FROM clicked WHERE clicked.phrase = searches.phrase) AS clicks
        FROM searches GROUP BY phrase""",
    "dead letters": """
        SELECT topic, value FROM sent
        WHERE topic <> 'shop.customers' AND number NOT IN (SELECT number FROM readable)""",
}


@dataclass(frozen=True, slots=True)
class Comparison:
    """One output beside what it should be, as bags of rows."""

    name: str
    rows: int
    expected: int
    missing: int
    surplus: int
    examples: tuple[str, ...] = ()
    """Some rows that make the difference."""

    @property
    def is_equal(self) -> bool:
        return self.missing == 0 and self.surplus == 0


class Oracle:
    def __init__(self, sent: Iterable[Event], opened_at: datetime) -> None:
        self._database = duckdb.connect()
        events = list(sent)
        given = pa.table(
            {
                "number": pa.array(range(len(events)), pa.int64()),
                "topic": [each.topic for each in events],
                "key": [each.key for each in events],
                "value": pa.array(
                    [None if each.value is None else each.value.decode() for each in events],
                    pa.string(),
                ),
            }
        )
        self._database.register("given", given)
        self._database.execute("CREATE TABLE sent AS SELECT * FROM given")
        self._database.execute(
            "CREATE TABLE opening AS SELECT ?::TIMESTAMP AS opened_at",
            [opened_at.replace(tzinfo=None)],
        )
        self._database.execute(INPUTS)
        for name, query in EXPECTED.items():
            self._database.execute(f'CREATE TABLE "{name}" AS {query}')

    def compare(self, name: str, values: Iterable[str]) -> Comparison:
        """Compare rows, each a JSON object, with the expected ones of that name."""
        self._database.register("found", pa.table({"value": pa.array(values, pa.string())}))
        columns = self._database.execute(f'DESCRIBE "{name}"').fetchall()
        typed = ", ".join(_typed(column, kind) for column, kind, *_ in columns)
        self._database.execute(f"CREATE OR REPLACE TABLE typed AS SELECT {typed} FROM found")
        missing = f'FROM "{name}" EXCEPT ALL FROM typed'
        surplus = f'FROM typed EXCEPT ALL FROM "{name}"'
        return Comparison(
            name,
            rows=self._count("FROM typed"),
            expected=self._count(f'FROM "{name}"'),
            missing=self._count(f"FROM ({missing})"),
            surplus=self._count(f"FROM ({surplus})"),
            examples=(*self._some("missing", missing), *self._some("surplus", surplus)),
        )

    def _some(self, what: str, source: str) -> list[str]:
        rows = self._database.execute(f"FROM ({source}) ORDER BY ALL LIMIT 5").fetchall()
        return [f"{what}: {', '.join(map(str, each))}" for each in rows]

    def _count(self, source: str) -> int:
        ((count,),) = self._database.execute(f"SELECT count(*) {source}").fetchall()
        return int(count)


def _typed(column: str, kind: str) -> str:
    return f"CAST(value->>'$.{column}' AS {kind}) AS " + f'"{column}"'
