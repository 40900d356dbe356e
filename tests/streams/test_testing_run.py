"""`hw.testing.run`: what users test their pipelines with."""

from datetime import UTC, datetime

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import headwater as hw
from headwater.errors import NotFound, Unavailable


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
