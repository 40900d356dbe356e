"""What must come out, said in SQL over the same events, and how what came out differs from it."""

from dataclasses import dataclass
from typing import Final, Self

import duckdb
import pyarrow as pa

from under_fire.events import accounts, slices

REVENUE: Final = """
    SELECT time_bucket(INTERVAL 1 minute, "at") AS minute, product, count(*)::BIGINT AS events,
        sum(CASE WHEN kind = 'buy' THEN amount ELSE 0 END)::BIGINT AS total, max(id) AS last_id
    FROM (SELECT DISTINCT * FROM events) GROUP BY ALL"""
PURCHASES: Final = """
    SELECT id, account, region, amount FROM events LEFT JOIN accounts USING (account)
    WHERE kind = 'buy'"""
TOTALS: Final = """
    SELECT account, count(*)::BIGINT AS events, sum(amount)::BIGINT AS total
    FROM events GROUP BY account"""


@dataclass(frozen=True, slots=True)
class Expected:
    """One dataset: its right contents, and what tells its rows apart."""

    sql: str
    key: tuple[str, ...]


EXPECTED: Final = {
    "revenue": Expected(REVENUE, ("minute", "product")),
    "purchases": Expected(PURCHASES, ("id",)),
    "totals": Expected(TOTALS, ("account",)),
}


@dataclass(frozen=True, slots=True)
class Difference:
    rows: int
    lost: int
    doubled: int
    different: int

    @property
    def is_none(self) -> bool:
        return not (self.lost or self.doubled or self.different)


class Oracle:
    def __init__(self, seed: int, count: int) -> None:
        self.broken = 0
        self._database = duckdb.connect()
        regions = dict(accounts(seed))
        table = pa.table({"account": list(regions), "region": list(regions.values())})
        self._database.register("given", table)
        self._database.execute("CREATE TABLE accounts AS FROM given")
        for number, each in enumerate(slices(seed, count)):
            self.broken += each.broken
            self._database.register("given", each.rows)
            into = "INSERT INTO events" if number else "CREATE TABLE events AS"
            self._database.execute(f"{into} FROM given")
        for name, expected in EXPECTED.items():
            self._database.execute(f"CREATE TABLE {name} AS {expected.sql}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def compare(self, dataset: str, found: pa.Table) -> Difference:
        """Rows are counted by key: too few are lost, too many doubled; other contents are different."""
        key = ", ".join(EXPECTED[dataset].key)
        columns = ", ".join(self._columns(dataset))
        self._database.register("given", found)
        counted = f"SELECT {key}, count(*)::BIGINT AS times FROM {{}} GROUP BY {key}"
        lost, doubled = self._one(
            f"""SELECT sum(greatest(coalesce(right_.times, 0) - coalesce(seen.times, 0), 0)),
                sum(greatest(coalesce(seen.times, 0) - coalesce(right_.times, 0), 0))
            FROM ({counted.format(dataset)}) AS right_
            FULL JOIN ({counted.format("given")}) AS seen USING ({key})"""
        )
        (different,) = self._one(
            f"SELECT count(*) FROM (SELECT {columns} FROM given EXCEPT SELECT {columns} FROM {dataset})"
        )
        return Difference(found.num_rows, int(lost or 0), int(doubled or 0), int(different))

    def _columns(self, dataset: str) -> list[str]:
        return [row[0] for row in self._database.execute(f"DESCRIBE {dataset}").fetchall()]

    def _one(self, sql: str) -> tuple[int, ...]:
        found = self._database.execute(sql).fetchone()
        assert found is not None
        return found
