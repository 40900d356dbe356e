"""`hw.testing.run`: what users test their pipelines with."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

import headwater as hw
from headwater.errors import InvalidRequest, NotFound, Unavailable
from headwater.streams.discovery import find_pipelines
from headwater.testing import SettableClock


def shop() -> hw.Pipeline:
    pipeline = hw.Pipeline("shop")
    pipeline.topic(
        "shop.orders",
        schema="id LONG, customer LONG, total DOUBLE, at TIMESTAMP",
        event_time="at",
        watermark="1 minute",
    )
    pipeline.changelog("shop.customers", key="id", schema="id LONG, name STRING")

    @pipeline.table(key="id", expect={"positive": ("total >= 0", "quarantine")})
    def named(orders: DataFrame, customers: DataFrame) -> DataFrame:
        names = customers.select(F.col("id").alias("customer"), "name")
        return orders.join(names, "customer", "left").select("id", "name", "total")

    @pipeline.materialized_view
    def revenue(orders: DataFrame) -> DataFrame:
        minute = F.window("at", "1 minute").alias("minute")
        return orders.groupBy(minute).agg(F.sum("total").alias("total"))

    return pipeline


def order(number: int, minute: int, total: float) -> dict[str, object]:
    at = datetime(2026, 9, 1, 10, minute, tzinfo=UTC)
    return {"id": number, "customer": number % 2, "total": total, "at": at}


def test_a_pipeline_is_fed_run_and_read(spark: SparkSession) -> None:
    found = hw.testing.run(
        shop(),
        feed=[
            {
                "shop.customers": [{"id": 1, "name": "Ada"}],
                "shop.orders": [order(1, 0, 10.0), order(2, 0, 1.0), b"{broken"],
            },
            {
                "shop.customers": [('{"id": 1}', None)],
                "shop.orders": [order(3, 30, 5.0), order(4, 30, -1.0)],
            },
            {"shop.orders": [order(5, 1, 100.0)]},
        ],
        spark=spark,
    )
    assert sorted(found["named"], key=lambda row: row["id"]) == [
        {"id": 1, "name": "Ada", "total": 10.0},
        {"id": 2, "name": None, "total": 1.0},
        {"id": 3, "name": None, "total": 5.0},
        {"id": 5, "name": None, "total": 100.0},
    ]
    assert {row["minute"]: row["total"] for row in found["revenue"]} == {
        "2026-09-01T10:00:00.000000Z": 11.0,
        "2026-09-01T10:30:00.000000Z": 4.0,
    }
    assert [row["id"] for row in found.quarantine["named"]] == [4]
    assert found.dead_letters["shop.orders"][0] == b"{broken"
    assert found.status["revenue"].late == 1
    with pytest.raises(NotFound, match="it has: named, revenue"):
        found["nothing"]


def test_a_failing_query_fails_the_test_with_its_reason(spark: SparkSession) -> None:
    pipeline = hw.Pipeline("shop")
    pipeline.topic("orders", schema="id LONG")

    @pipeline.table(expect={"small": ("id < 10", "fail")})
    def checked(orders: DataFrame) -> DataFrame:
        return orders

    with pytest.raises(Unavailable, match="a row breaks the rule 'small'"):
        hw.testing.run(pipeline, feed={"orders": [{"id": 11}]}, spark=spark)


def test_a_rule_keeps_no_deletion_out(spark: SparkSession) -> None:
    pipeline = hw.Pipeline("shop")
    pipeline.topic("orders", schema="id LONG, total DOUBLE")
    actions = ("drop", "quarantine", "fail")
    for action in actions:

        @pipeline.materialized_view(
            name=action, key="id", expect={"positive": ("total >= 0", action)}
        )
        def open_orders(orders: DataFrame) -> DataFrame:
            return orders.withColumn("_deleted", F.col("total").isNull())

    placed = [{"id": 1, "total": 5.0}, {"id": 2, "total": 6.0}]
    found = hw.testing.run(
        pipeline, feed=[{"orders": placed}, {"orders": [{"id": 1}]}], spark=spark
    )

    assert [[row["id"] for row in found[each]] for each in actions] == [[2], [2], [2]]


@pytest.mark.parametrize(
    ("feed", "sentence", "hint"),
    [
        ({"shop.order": []}, "does not read 'shop.order'", "did you mean 'shop.orders'"),
        ({"shop.named": [{"id": 1}]}, "does not read 'shop.named'", "it reads"),
        ({"shop.customers": [{"name": "Ada"}]}, "has no 'id', which is its key", "(key, row)"),
    ],
)
def test_a_feed_that_would_come_to_nothing_is_refused(
    spark: SparkSession, feed: dict[str, list[object]], sentence: str, hint: str
) -> None:
    with pytest.raises(InvalidRequest) as raised:
        hw.testing.run(shop(), feed=feed, spark=spark)
    assert sentence in raised.value.what
    assert hint in raised.value.hint


def amounts() -> hw.Pipeline:
    pipeline = hw.Pipeline("sums")
    pipeline.topic("sums.amounts", schema="id LONG, kind STRING, amount DECIMAL(30,10)")

    @pipeline.table
    def checked(amounts: DataFrame) -> DataFrame:
        return amounts

    @pipeline.materialized_view(key="kind")
    def latest(checked: DataFrame) -> DataFrame:
        return checked

    return pipeline


LONG_NUMBER = "12345678901234567890.0123456789"


@pytest.mark.parametrize("key", ['{"id":1}', '{"id": 1}', {"id": 1}, Row(id=1)], ids=str)
def test_a_row_of_a_changelog_is_deleted_however_its_key_is_written(
    spark: SparkSession, key: Any
) -> None:
    pipeline = hw.Pipeline("known")
    pipeline.changelog("people", key="id", schema="id LONG, name STRING")
    pipeline.materialized_view(key="id", name="known")(lambda people: people)
    rows = [{"id": 1, "name": "Ada"}, Row(id=2, name="Bob")]
    found = hw.testing.run(pipeline, feed={"people": [*rows, (key, None)]}, spark=spark)
    assert found["known"] == [{"id": 2, "name": "Bob"}]


def test_numbers_keep_their_digits_and_datasets_are_fed_by_name(spark: SparkSession) -> None:
    exact = {"id": 1, "kind": "a", "amount": Decimal(LONG_NUMBER)}
    short = {"id": 2, "kind": "b", "amount": 0.5}
    found = hw.testing.run(amounts(), feed={"amounts": [exact, short]}, spark=spark)
    assert list(found["checked"]) == [exact, short]
    assert found["latest"] == [exact, short]


def test_what_a_server_of_views_would_reject_is_no_row_but_a_dead_letter(
    spark: SparkSession,
) -> None:
    feed = [{"id": 1, "kind": None, "amount": 1}, {"id": 2, "kind": "a", "amount": 2}]
    found = hw.testing.run(amounts(), feed={"sums.amounts": feed}, spark=spark)
    assert [row["kind"] for row in found["checked"]] == [None, "a"]
    assert [row["kind"] for row in found["latest"]] == ["a"]
    (letter,) = found.dead_letters["sums.latest"]
    assert letter is not None
    assert b'"kind":null' in letter


def test_dead_letters_between_queries_are_shown(spark: SparkSession) -> None:
    pipeline = hw.Pipeline("sums")
    pipeline.topic("sums.amounts", schema="id LONG")

    @pipeline.table(schema="id LONG, amount LONG NOT NULL")
    def kept(amounts: DataFrame) -> DataFrame:
        return amounts.withColumn("amount", F.expr("nullif(id, 1)"))

    @pipeline.materialized_view(key="id")
    def latest(kept: DataFrame) -> DataFrame:
        return kept

    found = hw.testing.run(pipeline, feed={"sums.amounts": [{"id": 1}]}, spark=spark)
    assert (len(found["kept"]), found["latest"]) == (1, [])
    assert len(found.dead_letters["sums.kept"]) == 1


def test_times_that_no_view_takes_pass_through_tables_to_its_dead_letters(
    spark: SparkSession,
) -> None:
    pipeline = hw.Pipeline("far")
    pipeline.topic("far.seconds", schema="id LONG, seconds LONG")

    @pipeline.table
    def dated(seconds: DataFrame) -> DataFrame:
        return seconds.select("id", F.timestamp_seconds("seconds").alias("at"))

    @pipeline.materialized_view(key="id")
    def latest(dated: DataFrame) -> DataFrame:
        return dated

    rows = [{"id": 1, "seconds": 1_787_684_400_000}, {"id": 2, "seconds": 1_787_684_400}]
    found = hw.testing.run(pipeline, feed={"far.seconds": rows}, spark=spark)
    assert (len(found["dated"]), [row["id"] for row in found["latest"]]) == (2, [2])
    assert {topic: len(each) for topic, each in found.dead_letters.items()} == {"far.latest": 1}


UDF = """
import headwater as hw
from pyspark.sql import functions as F
from rates import times

shop = hw.Pipeline("shop")
shop.topic("orders", schema="id LONG, total LONG")


@F.udf("long")
def tripled(total):
    return times(total)


@shop.materialized_view(key="id")
def priced(orders):
    return orders.select("id", tripled("total").alias("total"))
"""


def test_functions_of_the_users_files_reach_the_workers(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "rates.py").write_text("FACTOR = 3\n\ndef times(n):\n    return n * FACTOR\n")
    (tmp_path / "prices.py").write_text(UDF)
    (pipeline,) = find_pipelines(tmp_path / "prices.py")
    found = hw.testing.run(pipeline, feed={"orders": [{"id": 1, "total": 2}]}, spark=spark)
    assert found["priced"] == [{"id": 1, "total": 6}]


def test_records_have_the_time_of_the_clock_whatever_year_it_shows(spark: SparkSession) -> None:
    clock = SettableClock(now_ms=1_000_000_000_000)
    pipeline = hw.Pipeline("shop")
    pipeline.topic("orders", schema="id LONG", options={"metadata": "timestamp"})

    @pipeline.materialized_view(key="minute")
    def counts(orders: DataFrame) -> DataFrame:
        minute = F.window("_timestamp", "1 minute").start.alias("minute")
        return orders.groupBy(minute).agg(F.count("*").alias("orders"))

    @pipeline.table
    def all_orders(orders: DataFrame) -> DataFrame:
        return orders.select("id")

    def feeds() -> Iterator[Mapping[str, Any]]:
        yield {"orders": [{"id": 1}, {"id": 2}]}
        clock.advance(seconds=300)
        yield {"orders": [{"id": 3}, b"{broken"]}

    found = hw.testing.run(pipeline, feed=feeds(), clock=clock, spark=spark)
    assert sorted((each["minute"], each["orders"]) for each in found["counts"]) == [
        ("2001-09-09T01:46:00.000000Z", 2),
        ("2001-09-09T01:51:00.000000Z", 1),
    ]
    assert len(found["all_orders"]) == 3
    assert set(found.dead_letters["orders"]) == {b"{broken"}


def test_a_row_is_a_value_and_bytes_are_base64_as_the_source_reads_them(
    spark: SparkSession,
) -> None:
    pipeline = hw.Pipeline("shop")
    pipeline.topic("orders", schema="id LONG, raw BINARY")

    @pipeline.table
    def kept(orders: DataFrame) -> DataFrame:
        return orders

    feed = {"orders": [Row(id=1, raw=b"\xff\x00"), {"id": 2, "raw": b"ab"}]}
    found = hw.testing.run(pipeline, feed=feed, spark=spark)
    assert sorted((each["id"], each["raw"]) for each in found["kept"]) == [(1, "/wA="), (2, "YWI=")]
    assert not found.dead_letters


@pytest.mark.parametrize(
    ("feed", "reason"),
    [
        ({"orders": {"id": 1}}, "one value and not a list"),
        ({"orders": "{}"}, "one value and not a list"),
        ({"orders": [(1, 2, 3)]}, "neither a value nor"),
        ({"orders": [{"id": {1, 2}}]}, "JSON has no set"),
        ([], "nothing to feed"),
        (["orders"], "it names no topic"),
    ],
)
def test_a_feed_that_cannot_be_sent_is_refused_in_one_sentence(
    spark: SparkSession, feed: Any, reason: str
) -> None:
    pipeline = hw.Pipeline("shop")
    pipeline.topic("orders", schema="id LONG")

    @pipeline.table
    def kept(orders: DataFrame) -> DataFrame:
        return orders

    with pytest.raises(InvalidRequest, match=reason):
        hw.testing.run(pipeline, feed=feed, spark=spark)
