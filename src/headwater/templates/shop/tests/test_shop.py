"""The shop's pipeline: bodies with static DataFrames, and all of it on a real broker and a real Spark."""

from datetime import UTC, datetime
from decimal import Decimal

from feed import Shop
from pipelines.shop import click_through, revenue, shop
from pyspark.sql import SparkSession

import headwater as hw

ORDER = {"id": "7", "customer": 1, "product": "tea", "quantity": 2, "total": 12.5}
BASEL = {"id": 1, "name": "Ann", "city": "Basel"}


def test_revenue_is_what_was_paid_in_each_minute(spark: SparkSession) -> None:
    receipts = spark.sql(
        """SELECT * FROM VALUES ('1', 10.00, TIMESTAMP '2026-09-01 10:00:01'),
                                ('2', 2.50, TIMESTAMP '2026-09-01 10:00:59'),
                                ('3', 1.00, TIMESTAMP '2026-09-01 10:01:00') AS paid(id, amount, at)"""
    )
    rows = revenue(receipts).selectExpr("string(minute.start)", "total", "payments").collect()
    assert sorted(map(tuple, rows)) == [
        ("2026-09-01 10:00:00", Decimal("12.50"), 2),
        ("2026-09-01 10:01:00", Decimal("1.00"), 1),
    ]


def test_a_phrase_without_clicks_is_counted_too(spark: SparkSession) -> None:
    searches = spark.createDataFrame([("strong tea",), ("strong tea",), ("mild mate",)], ["phrase"])
    clicked = spark.createDataFrame([("strong tea",)], ["phrase"])
    rows = click_through(searches, clicked).collect()
    assert sorted(map(tuple, rows)) == [("mild mate", 1, 0), ("strong tea", 2, 1)]


def test_an_order_sent_twice_counts_once_and_a_broken_one_is_set_aside(spark: SparkSession) -> None:
    order = {**ORDER, "at": "2026-09-01T10:00:00Z"}
    typo = {**order, "id": "8", "total": -12.5}
    made = hw.testing.run(
        shop,
        spark=spark,
        feed={"shop.customers": [BASEL], "shop.orders": [order, order, typo, b'{"id": "9", ']},
    )
    assert made["top_sellers"] == [{"city": "Basel", "product": "tea", "sold": 2, "total": 12.5}]
    assert [each["id"] for each in made.quarantine["sales"]] == ["8"]
    assert made.dead_letters["shop.orders"] == [b'{"id": "9", ']


def test_a_branch_of_the_shop_always_has_the_same_visitors() -> None:
    opening = datetime(2026, 9, 1, 10, tzinfo=UTC)
    first, again = Shop(seed=7), Shop(seed=7)
    assert first.open() == again.open()
    assert first.serve(opening, 60, visitors=50) == again.serve(opening, 60, visitors=50)
