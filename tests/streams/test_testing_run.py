"""`hw.testing.run`: what users test their pipelines with."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import headwater as hw
from headwater.errors import NotFound, Unavailable
from headwater.streams.discovery import find_pipelines


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
