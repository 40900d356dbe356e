"""Files written for `pyspark.pipelines`: their views hold the rows that Spark's own tables would hold."""

import contextlib
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.client import Client
from headwater.errors import InvalidRequest
from headwater.streams.datasets import MaterializedView
from headwater.streams.discovery import find_pipelines
from headwater.streams.pipeline import Pipeline
from headwater.streams.register import default_log
from headwater.streams.run.runner import Runner
from headwater.streams.run.status import Status
from headwater.streams.run.surroundings import Surroundings
from headwater.streams.run.view_key import OF_ALL_ROWS, ROW_KEY
from streams.shop import Running

ORDERS = "id INT, customer INT, state STRING, day STRING, amount DOUBLE"
CUSTOMERS = "customer INT, name STRING"
D1, D2, D3 = "2026-09-01", "2026-09-02", "2026-09-03"

TABLES = f"""\
from pyspark import pipelines as dp
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F
import pandas as pd

spark = SparkSession.active()


def of(topic, schema):
    stream = spark.readStream.format("headwater").option("subscribe", topic)
    return stream.option("startingOffsets", "earliest").option("valueSchema", schema).load()


@dp.table
def orders():
    return of("<orders>", "{ORDERS}")


@dp.table
def customers():
    return of("<customers>", "{CUSTOMERS}")
"""

OF_SINGLE_ROWS = """

@dp.materialized_view
def customer_orders():
    named = spark.read.table("customers")
    return spark.read.table("orders").join(named, "customer").select("customer", "id", "day", "name")

@dp.materialized_view
def large():
    return spark.read.table("orders").filter("amount > 3").select("state", "amount")

@dp.materialized_view
def top():
    return spark.read.table("orders").orderBy(F.desc("amount"), "id").limit(2)

@dp.materialized_view
def latest():
    of_customer = Window.partitionBy("customer").orderBy(F.desc("id"))
    return spark.read.table("orders").withColumn("place", F.rank().over(of_customer)).filter("place = 1")

@dp.materialized_view
def numbers():
    orders = spark.read.table("orders")
    customers = spark.read.table("customers").select("customer")
    return orders.select("customer").unionAll(customers).unionAll(orders.select("id"))

@dp.materialized_view
def lists():
    return spark.read.table("orders").select("state", F.array("id", "customer").alias("numbers"))

@dp.materialized_view
def lists_twice():
    lists = spark.read.table("lists").select("numbers")
    return lists.unionAll(spark.read.table("lists").select("numbers"))

@dp.materialized_view
def equals():
    return spark.range(4).selectExpr("id % 2 AS x")
"""

OF_GROUPS = """

@dp.materialized_view
def daily():
    return spark.read.table("orders").groupBy("state", "day").agg(F.sum("amount").alias("total"))

@dp.materialized_view
def busy_days():
    return spark.read.table("daily").filter("total > 20").select("day", "total")

@dp.materialized_view
def by_name():
    joined = spark.read.table("orders").join(spark.read.table("customers"), "customer")
    return joined.groupBy("name").count()

@dp.materialized_view
def total():
    return spark.read.table("orders").agg(F.sum("amount").alias("total"), F.count("*").alias("orders"))

@dp.materialized_view
def rare():
    return spark.read.table("orders").groupBy("state").count().filter("count < 3")

@dp.materialized_view
def most():
    return spark.read.table("orders").groupBy("state").count().orderBy(F.desc("count"), "state").limit(1)

@dp.materialized_view
def states():
    return spark.read.table("orders").select("state").distinct()

@dp.materialized_view
def by_list():
    return spark.read.table("orders").groupBy(F.array("state", "day").alias("place")).count()

@dp.materialized_view
def buyers():
    return spark.read.table("orders").groupBy("state").agg(F.countDistinct("customer").alias("buyers"))

@dp.materialized_view
def on_busy_days():
    busy = spark.read.table("busy_days").select("day").distinct()
    return spark.read.table("orders").join(busy, "day").groupBy("customer").count()
"""

NO_STREAMS = """

@dp.materialized_view
def by_made_up_key():
    return spark.read.table("orders").groupBy("state").count().withColumn("state", F.lower("state"))

@dp.materialized_view
def by_window():
    orders = spark.read.table("orders").withColumn("at", F.col("day").cast("timestamp"))
    found = orders.groupBy(F.window("at", "1 day"), "state").count()
    return found.select(F.date_format("window.start", "y-MM-dd").alias("day"), "state", "count")

@dp.materialized_view
def with_stragglers():
    orders = spark.read.table("orders").withColumn("at", F.col("day").cast("timestamp"))
    found = orders.withWatermark("at", "1 hour").groupBy("at").count()
    return found.select(F.col("at").cast("string"), "count")

@dp.materialized_view
def first_of_each():
    def first(rows):
        return rows.head(1)
    orders = spark.read.table("orders").select("state", "customer")
    firsts = orders.groupBy("state").applyInPandas(first, "state STRING, customer INT")
    return firsts.groupBy("state").count()

@dp.materialized_view
def mean():
    @F.pandas_udf("double")
    def average(numbers: pd.Series) -> float:
        return numbers.mean()
    return spark.read.table("orders").groupBy("state").agg(average("amount").alias("amount"))

@dp.materialized_view
def recent():
    orders = spark.read.table("orders")
    return orders.filter(F.col("day") >= F.date_sub(F.current_date(), 30)).groupBy("state").count()
"""
STREAMS = """

@dp.materialized_view
def daily():
    orders = spark.read.table("orders").withColumn("at", F.col("day").cast("timestamp"))
    found = orders.groupBy(F.window("at", "1 day"), "state").count()
    return found.select("window.start", F.col("state").alias("of"), "count")
"""

IN_SQL = """
CREATE STREAMING TABLE orders AS SELECT id, customer, state, day, amount FROM STREAM source;
CREATE MATERIALIZED VIEW above AS
SELECT state, count(*) AS orders FROM orders WHERE amount > (SELECT avg(amount) FROM orders) GROUP BY state;
CREATE MATERIALIZED VIEW states AS SELECT DISTINCT state FROM orders;
CREATE MATERIALIZED VIEW all_above AS SELECT sum(orders) AS orders FROM above;
"""


@dataclass
class File:
    """A file of Spark's kind over two topics, run by `--once` again and again."""

    spark: SparkSession
    client: Client
    folder: Path
    orders_topic: str
    customers_topic: str
    sent: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.where = Surroundings(self.client.connection.address.bootstrap, self.folder / "state")
        self.runner = Runner(self.spark, self.client, self.where)

    def write(self, text: str, *, suffix: str = "py") -> None:
        text = text.replace("<orders>", self.orders_topic)
        place = self.folder / f"of-{self.orders_topic}.{suffix}"
        place.write_text(text.replace("<customers>", self.customers_topic))
        with default_log(self.spark, self.where.options()):
            (self.pipeline,) = find_pipelines(place)

    def order(self, *rows: tuple[int, int, str | None, str, float]) -> None:
        names = ("id", "customer", "state", "day", "amount")
        self._send(self.orders_topic, [dict(zip(names, row, strict=True)) for row in rows])

    def customer(self, *rows: tuple[int, str]) -> None:
        self._send(self.customers_topic, [{"customer": row[0], "name": row[1]} for row in rows])

    def _send(self, topic: str, rows: list[dict[str, Any]]) -> None:
        self.sent.setdefault(topic, []).extend(rows)
        with self.client.producer() as producer:
            for each in rows:
                producer.send(topic, each)

    def once(self) -> dict[str, Status]:
        found = {each.query: each for each in self.runner.run_once([self.pipeline.graph()])}
        assert {name: each.error for name, each in found.items() if each.error} == {}
        return found

    def changes(self, view: str) -> list[tuple[str, Any]]:
        with self.client.consumer(self.pipeline.topic_of(view, 1), until="end") as records:
            return [(str(each.key), each.value) for each in records]

    def rows(self, view: str) -> Counter[str]:
        """What a view holds, but for its own key."""
        latest = [each for each in dict(self.changes(view)).values() if each is not None]
        return Counter(
            _text({name: value for name, value in row.items() if name != ROW_KEY}) for row in latest
        )

    @property
    def views(self) -> list[str]:
        return [
            each.name
            for each in self.pipeline.graph().outputs
            if isinstance(each, MaterializedView)
        ]

    def as_in_plain_spark(self) -> dict[str, Counter[str]]:
        """The views over the same input, computed by the bodies of the file from tables of Spark."""
        tables = {
            "orders": self.spark.createDataFrame(self.sent[self.orders_topic], ORDERS),
            "customers": self.spark.createDataFrame(
                self.sent.get(self.customers_topic, []), CUSTOMERS
            ),
        }
        with contextlib.ExitStack() as held:
            for name, frame in tables.items():
                frame.createOrReplaceTempView(name)
                held.callback(self.spark.catalog.dropTempView, name)
            flows = {each.target: each for each in self.pipeline.graph().queries}
            found = {}
            for name in self.views:
                frame = flows[name].body()
                frame.createOrReplaceTempView(name)
                held.callback(self.spark.catalog.dropTempView, name)
                found[name] = _rows_of(frame)
            return found


def _rows_of(frame: DataFrame) -> Counter[str]:
    text = F.to_json(F.struct("*"), {"ignoreNullFields": "false"}).alias("row")
    return Counter(_text(json.loads(each.row)) for each in frame.select(text).collect())


def _text(row: dict[str, Any]) -> str:
    return json.dumps(row, sort_keys=True)


@pytest.fixture
def file(
    spark: SparkSession, client: Client, new_topic: Callable[..., str], tmp_path: Path
) -> Iterator[File]:
    yield File(spark, client, tmp_path, new_topic(partitions=2), new_topic(partitions=1))
    for query in spark.streams.active:
        query.stop()


@pytest.mark.long
@pytest.mark.parametrize("views", [OF_SINGLE_ROWS, OF_GROUPS])
def test_views_hold_the_rows_that_the_tables_of_spark_would_hold(file: File, views: str) -> None:
    file.write(TABLES + views)
    file.customer((1, "Ann"), (2, "Bob"))
    file.order((1, 1, "CA", D1, 1.0), (2, 2, "NY", D1, 4.0), (3, 3, "ca", D2, 4.0))
    file.order((4, 1, "CA", D2, 9.0), (2, 2, "NY", D1, 4.0))
    file.once()
    assert {each: file.rows(each) for each in file.views} == file.as_in_plain_spark()
    file.customer((3, "Cid"), (3, "Cid"))
    file.order((5, 1, "CA", D1, 20.0), (2, 2, "NY", D1, 4.0), (6, 4, "TX", D3, 0.5))
    file.once()
    assert {each: file.rows(each) for each in file.views} == file.as_in_plain_spark()


EQUALS = """

@dp.materialized_view(schema="state STRING, numbers ARRAY<INT>")
def equals():
    return spark.read.table("orders").select("state", F.array("customer").alias("numbers"))

@dp.materialized_view
def total():
    return spark.read.table("orders").agg(F.count("*").alias("orders"))

@dp.materialized_view
def states():
    return spark.read.table("orders").select("state", "day").distinct()

@dp.materialized_view
def of_states():
    return spark.read.table("orders").join(spark.read.table("states"), "state").select("id")
"""


def test_equal_rows_have_a_key_each_and_rows_that_stay_are_not_written_again(file: File) -> None:
    file.write(TABLES + EQUALS)
    file.order((1, 1, "CA", "d1", 1.0), (2, 1, "CA", "d1", 1.0), (3, 2, None, "d1", 1.0))
    file.once()
    before = file.changes("equals")
    assert {each: file.rows(each) for each in file.views} == file.as_in_plain_spark()
    assert len(dict(before)) == len(before) == 3
    assert list(before[0][1]) == [ROW_KEY, "state", "numbers"]
    file.order((4, 1, "CA", "d1", 1.0))
    file.once()
    assert file.changes("equals")[:-1] == before
    assert {each: file.rows(each) for each in file.views} == file.as_in_plain_spark()
    assert set(dict(file.changes("total"))) == {f'{{"{ROW_KEY}":"{OF_ALL_ROWS}"}}'}


def test_a_view_in_sql_may_ask_what_no_stream_can_and_others_read_it(file: File) -> None:
    file.write(IN_SQL, suffix="sql")
    file.pipeline.topic(file.orders_topic, name="source", schema=ORDERS)
    for number in (1, 2):
        file.order(
            (1, 1, "CA", "d1", 1.0), (2, 2, "NY", "d1", 4.0), (3, 3, "CA", "d2", 9.0 * number)
        )
        file.once()
        assert {each: file.rows(each) for each in file.views} == file.as_in_plain_spark()


LARGE = """

@dp.materialized_view
def large():
    return spark.read.table("orders").filter("amount > 3").select("amount")
"""


def modes_and_keys(file: File) -> dict[str, tuple[str, Any]]:
    planned = file.runner.plan([file.pipeline.graph()])
    return {
        each.flow.name: (each.output_mode, each.output.key)
        for each in planned
        if isinstance(each.output, MaterializedView)
    }


def test_a_view_whose_stream_would_come_to_other_rows_is_computed_anew(file: File) -> None:
    file.write(TABLES + NO_STREAMS)
    found = modes_and_keys(file)
    assert {mode for mode, _ in found.values()} == {"anew"}
    # What is made of two groups may be the same.
    assert found["by_made_up_key"] == found["by_window"] == ("anew", (ROW_KEY,))


def test_groups_that_are_shown_under_another_name_stay_a_stream(file: File) -> None:
    file.write(TABLES + STREAMS)
    assert modes_and_keys(file)["daily"] == ("update", ("start", "of"))


OF_PARTS = """
CREATE STREAMING TABLE orders AS SELECT * FROM STREAM source;
CREATE STREAMING TABLE customers AS SELECT * FROM STREAM source;
CREATE TEMPORARY VIEW unread AS SELECT * FROM orders WHERE id = (SELECT max(id) FROM orders);
CREATE MATERIALIZED VIEW known AS
SELECT id FROM orders WHERE customer IN (SELECT customer FROM customers);
CREATE MATERIALIZED VIEW large AS
WITH of_state AS (SELECT state, sum(amount) AS amount FROM orders GROUP BY state)
SELECT state FROM of_state WHERE amount > 3;
"""


def test_a_view_in_sql_may_name_its_tables_in_a_subquery_or_a_with_alone(file: File) -> None:
    file.write(OF_PARTS, suffix="sql")
    file.pipeline.topic(file.orders_topic, name="source", schema=ORDERS)
    assert modes_and_keys(file).keys() == {"known", "large"}


def test_a_view_that_is_computed_anew_follows_its_tables_while_a_pipeline_runs(file: File) -> None:
    file.write(TABLES + LARGE)
    file.order((1, 1, "CA", "d1", 4.0))
    with Running(file.runner, file.pipeline) as run:
        run.wait_for("large", lambda status: status.rows >= 1)
        file.order((2, 1, "CA", "d1", 4.0))
        run.wait_for("large", lambda status: status.rows >= 1 + 2)
    assert file.rows("large") == Counter({'{"amount": 4.0}': 2})


COPIED = """

@dp.table
def copied():
    return spark.readStream.table("orders").select("id")

@dp.materialized_view
def both():
    return spark.read.table("orders").select("id").unionAll(spark.read.table("copied"))
"""


def test_a_table_keeps_its_stream_where_a_view_that_reads_it_has_none(file: File) -> None:
    file.write(TABLES + COPIED)
    planned = {each.flow.name: each for each in file.runner.plan([file.pipeline.graph()])}
    assert (planned["copied"].is_streaming, planned["both"].is_streaming) == (True, False)
    assert planned["both"].reads.keys() == {"orders", "copied"}


STREAMED = """

@dp.materialized_view
def large():
    return spark.readStream.table("orders").filter("amount > 3")
"""
QUALIFIED = """

@dp.materialized_view
def large():
    return spark.read.table("main.gold.orders").filter("amount > 3")
"""
TAKEN = """

@dp.materialized_view
def large():
    return spark.read.table("orders").select(F.col("state").alias("_Row_Key"))
"""


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (
            QUALIFIED,
            r"'large' reads 'main.gold.orders', .* no schema here \(hint: read it as 'orders'\)",
        ),
        (STREAMED, r"the key of 'large' cannot be told .* reads a stream .*spark\.read\.table"),
        (TAKEN, "'large' has a column '_Row_Key', which is the name of the key"),
    ],
)
def test_a_view_that_cannot_be_kept_is_refused_in_one_sentence(
    file: File, view: str, words: str
) -> None:
    file.write(TABLES + view)
    with pytest.raises(InvalidRequest, match=words):
        file.runner.plan([file.pipeline.graph()])


def test_what_a_view_cannot_read_is_a_dead_letter_once_however_often_it_is_computed(
    file: File,
) -> None:
    file.pipeline = Pipeline(f"own-{file.orders_topic}")
    file.pipeline.topic(file.orders_topic, name="orders", schema=ORDERS)
    file.pipeline.materialized_view(name="large")(
        lambda orders: orders.unionAll(orders).filter("amount > 3")
    )
    dead = []
    for _ in range(3):
        file.client.send(file.orders_topic, {"id": "no number"})
        file.order((1, 1, "CA", "d1", 4.0))
        dead.append(file.once()["large"].dead)
    assert dead == [2, 4, 6]  # the union reads the topic twice
    assert file.rows("large").total() == 6
