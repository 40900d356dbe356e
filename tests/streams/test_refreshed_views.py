"""Views that are no stream: computed anew when what they read has changed, only differences written."""

import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, GroupedData, SparkSession
from pyspark.sql import functions as F

from headwater.bulk.transactional_producer import TransactionalProducer
from headwater.client import Client
from headwater.errors import Conflict, InvalidRequest
from headwater.streams.log_access import LogAccess
from headwater.streams.pipeline import Pipeline
from headwater.streams.run.refresh_number import query_id_of
from headwater.streams.run.runner import Runner
from headwater.streams.run.status import WHOLE_RESULT, Counts, Status
from headwater.streams.run.surroundings import Surroundings
from headwater.streams.run.view_key import ROW_KEY
from headwater.streams.sink.marker import Writer
from headwater.streams.sink.records import COLUMNS
from streams.shop import Running, Shop


class Cities:
    """Counts customers by city, from the changelog of customers alone."""

    def __init__(self, spark: SparkSession, client: Client, customers: str, folder: Path) -> None:
        self.client = client
        self.customers = customers
        self.runner = Runner(
            spark, client, Surroundings(client.connection.address.bootstrap, folder)
        )
        self.pipeline = Pipeline(f"cities-{customers}")
        self.pipeline.changelog(
            customers, name="customers", key="id", schema="id LONG, city STRING"
        )

    def move(self, customer: int, city: str | None) -> None:
        value = None if city is None else {"id": customer, "city": city}
        self.client.send(self.customers, value, key=str(customer))

    def once(self) -> Status:
        (status,) = self.runner.run_once([self.pipeline.graph()])
        return status

    def changes(self, dataset: str) -> list[tuple[str, Any]]:
        topic = self.pipeline.topic_of(dataset, 1)
        with self.client.consumer(topic, until="end") as records:
            return [(str(each.key), each.value) for each in records]


@pytest.fixture
def cities(
    spark: SparkSession, client: Client, new_topic: Callable[..., str], tmp_path: Path
) -> Cities:
    return Cities(spark, client, new_topic(partitions=1), tmp_path)


def by_city(customers: DataFrame) -> DataFrame:
    return customers.groupBy("city").agg(F.count("*").alias("customers"))


def test_only_what_changed_is_written_and_what_is_gone_is_deleted(cities: Cities) -> None:
    cities.pipeline.materialized_view(name="counts")(by_city)
    cities.move(1, "Rome")
    cities.move(2, "Oslo")
    assert (cities.once().state, cities.once().state) == ("done", "done")
    before = cities.changes("counts")
    assert sorted(before) == [
        ('{"city":"Oslo"}', {"city": "Oslo", "customers": 1}),
        ('{"city":"Rome"}', {"city": "Rome", "customers": 1}),
    ]
    cities.move(2, "Rome")
    cities.once()
    assert sorted(cities.changes("counts")[len(before) :], key=str) == [
        ('{"city":"Oslo"}', None),
        ('{"city":"Rome"}', {"city": "Rome", "customers": 2}),
    ]


def test_rows_without_a_key_have_one_of_their_own(cities: Cities, spark: SparkSession) -> None:
    cities.pipeline.materialized_view(name="numbers")(lambda: spark.range(3))
    assert cities.once().state == "done"
    changes = cities.changes("numbers")
    assert sorted(value["id"] for _, value in changes) == [0, 1, 2]
    assert {key for key, _ in changes} == {
        json.dumps({ROW_KEY: value[ROW_KEY]}, separators=(",", ":")) for _, value in changes
    }


def test_a_view_whose_key_was_all_its_columns_before_an_upgrade_keeps_it(
    cities: Cities, spark: SparkSession
) -> None:
    cities.pipeline.materialized_view(name="numbers", key="id")(lambda: spark.range(3))
    cities.once()
    cities.pipeline = Pipeline(cities.pipeline.name)
    cities.pipeline.materialized_view(name="numbers")(lambda: spark.range(4))
    assert cities.once().state == "done"
    assert max(cities.changes("numbers")) == ('{"id":3}', {"id": 3})


def test_two_rows_of_one_key_are_refused(cities: Cities) -> None:
    @cities.pipeline.materialized_view(key="city")
    def wrong(customers: DataFrame) -> DataFrame:
        return customers

    cities.move(1, "Rome")
    cities.move(2, "Rome")
    status = cities.once()
    assert status.state == "failed"
    assert "two rows of 'wrong' have the same key" in str(status.error)
    assert cities.changes("wrong") == []


def test_a_view_that_is_computed_again_after_a_failure_tells_of_none(cities: Cities) -> None:
    cities.pipeline.materialized_view(name="moved", key="city")(lambda customers: customers)
    cities.move(1, "Rome")
    with Running(cities.runner, cities.pipeline) as run:
        run.wait_for("moved", lambda status: status.rows == 1)
        cities.move(2, "Rome")
        run.wait_for("moved", lambda status: status.error is not None)
        cities.move(2, "Oslo")
        run.wait_for("moved", lambda status: status.state == "running" and status.error is None)


def test_rows_of_a_refresh_that_was_cut_off_hide_nothing_that_comes_after(cities: Cities) -> None:
    """Its transaction is still open, and readers wait for the end of one."""
    cities.pipeline.materialized_view(name="counts")(by_city)
    cities.move(1, "Rome")
    cities.once()
    (planned,) = cities.runner.plan([cities.pipeline.graph()])
    log = LogAccess.of({"bootstrap.servers": cities.client.connection.address.bootstrap})
    topic = cities.pipeline.topic_of("counts", 1)
    with log.cluster() as cluster:
        writer = Writer(query_id_of(planned), sink=topic)
        cut_off = TransactionalProducer(cluster, writer.name, timeout_ms=300_000)
        row = {"key": b'{"city":"Rome"}', "value": b"torn"}
        cut_off.write(topic, pa.RecordBatch.from_pylist([row], COLUMNS), now_ms=1)
        cut_off.flush()
        cities.move(1, "Oslo")
        cities.once()
        assert sorted(cities.changes("counts")[1:], key=str) == [
            ('{"city":"Oslo"}', {"city": "Oslo", "customers": 1}),
            ('{"city":"Rome"}', None),
        ]


def test_a_refresh_that_would_take_long_is_given_up_when_its_run_ends(
    cities: Cities, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    os.mkfifo(begun)

    @F.udf("string", useArrow=False)
    def slowly(city: str) -> str:
        begun.open("w").close()
        threading.Event().wait()
        return city

    cities.pipeline.materialized_view(name="slow", key="id")(
        lambda customers: customers.select("id", slowly("city"))
    )
    cities.move(1, "Rome")
    with Running(cities.runner, cities.pipeline):
        begun.read_bytes()
    assert cities.changes("slow") == []


def test_a_body_that_runs_a_query_of_its_own_is_refused(cities: Cities) -> None:
    """What it finds would stay as it was when the run began."""

    @cities.pipeline.materialized_view(key="id")
    def numbered(customers: DataFrame) -> DataFrame:
        return customers.withColumn("of", F.lit(customers.count()))

    cities.move(1, "Rome")
    with pytest.raises(InvalidRequest, match=r"'numbered' runs a query while it is planned.*count"):
        cities.runner.plan([cities.pipeline.graph()])


def test_a_body_that_counts_what_it_reads_by_name_is_refused(
    cities: Cities, spark: SparkSession
) -> None:
    cities.pipeline.topic(cities.customers, name="moves", schema="id LONG, city STRING")

    @cities.pipeline.materialized_view(key="id")
    def numbered() -> DataFrame:
        moves = spark.read.table("moves")
        return moves.withColumn("of", F.lit(moves.count()))

    cities.move(1, "Rome")
    with pytest.raises(InvalidRequest, match="'numbered' cannot be planned"):
        cities.runner.plan([cities.pipeline.graph()])


def test_a_table_takes_no_rows_that_are_no_stream(cities: Cities) -> None:
    cities.pipeline.table(name="counts")(by_city)
    with pytest.raises(InvalidRequest, match="nothing to append"):
        cities.once()


def test_rows_that_break_a_rule_are_counted_as_they_are_now(cities: Cities) -> None:
    rules = {"known": "city IS NOT NULL", "inhabited": ("city != 'Atlantis'", "drop")}
    cities.pipeline.materialized_view(name="moved", key="id", expect=rules)(
        lambda customers: customers
    )
    cities.move(1, "Rome")
    cities.move(2, "Atlantis")
    cities.move(3, "Atlantis")
    assert cities.once().broken == {"known": 0, "inhabited": 2}
    assert [value["id"] for _, value in cities.changes("moved")] == [1]


def test_a_view_whose_topic_gets_more_partitions_is_refused_and_written_nowhere_twice(
    cities: Cities,
) -> None:
    """The old row of a key would stay in one partition, and the new one come into another."""
    cities.pipeline.materialized_view(name="counts")(by_city)
    for number in range(10):
        cities.move(number, f"city {number}")
    cities.once()
    before = cities.changes("counts")
    cities.client.admin.topics.add_partitions(cities.pipeline.topic_of("counts", 1), total=4)
    cities.move(0, "city 1")
    with pytest.raises(Conflict, match=r"had 1 partition, now 4.* \(1\) write a new version"):
        cities.once()
    assert sorted(cities.changes("counts"), key=str) == sorted(before, key=str)


def test_partitions_that_come_while_a_view_is_kept_up_to_date_stop_it(cities: Cities) -> None:
    cities.pipeline.materialized_view(name="counts")(by_city)
    cities.move(1, "Rome")
    with Running(cities.runner, cities.pipeline) as run:
        run.wait_for("counts", lambda status: status.rows == 1)
        cities.client.admin.topics.add_partitions(cities.pipeline.topic_of("counts", 1), total=4)
        cities.move(2, "Rome")
        status = run.wait_for("counts", lambda status: status.error is not None)
        assert "had 1 partition, now 4" in str(status.error)
    assert len(cities.changes("counts")) == 1


def test_a_view_over_files_follows_them(cities: Cities, tmp_path: Path) -> None:
    """Spark lists files once; they come, change and go while the view is kept up to date."""
    folder = tmp_path / "prices"
    folder.mkdir()
    (folder / "a.csv").write_text("tea,1\n")

    @cities.pipeline.materialized_view(key="product")
    def prices(spark: SparkSession) -> DataFrame:
        return spark.read.csv(str(folder), schema="product STRING, price LONG")

    def latest() -> dict[str, Any]:
        return {key: value for key, value in cities.changes("prices") if value is not None}

    with Running(cities.runner, cities.pipeline) as run:
        run.wait_for("prices", lambda status: status.rows == 1)
        (folder / "b.csv").write_text("mate,2\n")
        run.wait_for("prices", lambda status: status.rows == 1 + 2)
        assert latest() == {
            '{"product":"tea"}': {"product": "tea", "price": 1},
            '{"product":"mate"}': {"product": "mate", "price": 2},
        }
        (folder / "b.csv").write_text("mate,300\n")
        run.wait_for("prices", lambda status: status.rows == 1 + 2 + 2)
        (folder / "a.csv").unlink()
        run.wait_for("prices", lambda status: status.rows == 1 + 2 + 2 + 1)
    assert cities.changes("prices")[-1] == ('{"product":"tea"}', None)
    assert latest()['{"product":"mate"}'] == {"product": "mate", "price": 300}


def test_a_row_that_breaks_a_rule_counts_once_however_often_it_is_computed() -> None:
    counts = Counts()
    for number, broken in enumerate((2, 2, 1)):
        counts.add({"runId": "r", "batchId": number, WHOLE_RESULT: {"known": broken}})
    assert counts.broken == {"known": 1}


def test_a_view_that_was_a_stream_before_follows_its_changelogs(shop: Shop) -> None:
    """The last batch of the stream had seen them as they were then."""

    def by_name(orders: DataFrame, customers: DataFrame) -> GroupedData:
        return orders.join(customers, orders.customer == customers.id).groupBy("name")

    @shop.pipeline.materialized_view(name="counts")
    def kept(orders: DataFrame, customers: DataFrame) -> DataFrame:
        return by_name(orders, customers).agg(F.count("*").alias("orders"))

    shop.client.send(shop.customers_topic, {"id": 1, "name": "Ada"}, key="1")
    shop.order((1, 1, 10.0), (2, 1, 20.0))
    assert shop.once()["counts"].state == "done"
    assert shop.latest("counts") == {'{"name":"Ada"}': {"name": "Ada", "orders": 2}}

    shop.pipeline = shop.new_pipeline()

    @shop.pipeline.materialized_view(name="counts")
    def anew(orders: DataFrame, customers: DataFrame) -> DataFrame:
        return by_name(orders, customers).agg(F.count_distinct("total").alias("orders"))

    shop.client.send(shop.customers_topic, {"id": 1, "name": "Bob"}, key="1")
    assert shop.once()["counts"].state == "done"
    assert shop.latest("counts") == {'{"name":"Bob"}': {"name": "Bob", "orders": 2}}
