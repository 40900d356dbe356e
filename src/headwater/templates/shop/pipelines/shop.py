"""The shop's pipeline: topics in, tables and views out. Bodies are plain PySpark.

Who comes too late is decided where events enter: one that is ten minutes behind the newest is dropped,
and counted. The same event sent twice has the same id and time: `dropDuplicates` keeps one of them, and
the time tells Spark when it may forget it.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import headwater as hw

shop = hw.Pipeline("shop")

PATIENCE = {"event_time": "at", "watermark": "10 minutes"}
shop.topic(
    "shop.orders",
    schema="id STRING, customer LONG, product STRING, quantity INT, total DECIMAL(10,2), at TIMESTAMP",
    **PATIENCE,
)
shop.topic(
    "shop.payments",
    schema="id STRING, order_id STRING, amount DECIMAL(10,2), at TIMESTAMP",
    **PATIENCE,
)
shop.topic("shop.searches", schema="id STRING, phrase STRING, at TIMESTAMP", **PATIENCE)
shop.topic(
    "shop.clicks", schema="id STRING, search STRING, product STRING, at TIMESTAMP", **PATIENCE
)
shop.changelog("shop.customers", key="id", schema="id LONG, name STRING, city STRING")


@shop.table(key="id", expect={"positive": ("total > 0", "quarantine")})
def sales(orders: DataFrame, customers: DataFrame) -> DataFrame:
    """Each order once, with the city of its customer."""
    cities = customers.select(F.col("id").alias("customer"), "city")
    return (
        orders.dropDuplicates(["id", "at"])
        .join(cities, "customer", "left")
        .select("id", "customer", "city", "product", "quantity", "total", "at")
        .fillna("unknown", "city")
    )


@shop.table(key="id")
def receipts(payments: DataFrame) -> DataFrame:
    """Each payment once."""
    return payments.dropDuplicates(["id", "at"])


@shop.table(key="id")
def clicked(searches: DataFrame, clicks: DataFrame) -> DataFrame:
    """Each click that came within five minutes of its search, once, with what was searched for."""
    found = searches.select(F.col("id").alias("asked"), "phrase", F.col("at").alias("asked_at"))
    in_time = F.expr("search = asked AND at BETWEEN asked_at AND asked_at + INTERVAL 5 MINUTES")
    return (
        clicks.dropDuplicates(["id", "at"])
        .join(found, in_time)
        .select("id", "search", "phrase", "product", "at")
    )


@shop.materialized_view(key="minute")
def revenue(receipts: DataFrame) -> DataFrame:
    """What was paid in each minute."""
    minute = F.window("at", "1 minute").alias("minute")
    # A day: minutes older than that are forgotten; whoever came too late was dropped before.
    paid = receipts.withWatermark("at", "1 day").groupBy(minute)
    return paid.agg(F.sum("amount").alias("total"), F.count("id").alias("payments"))


@shop.materialized_view(key=["city", "product"])
def top_sellers(sales: DataFrame) -> DataFrame:
    """What was sold where; the top is a query: ORDER BY sold DESC LIMIT 10."""
    sold = sales.groupBy("city", "product")
    return sold.agg(F.sum("quantity").alias("sold"), F.sum("total").alias("total"))


@shop.materialized_view(key="phrase")
def click_through(searches: DataFrame, clicked: DataFrame) -> DataFrame:
    """How often a phrase was searched for, and how many clicks that led to."""
    asked = searches.selectExpr("phrase", "1 AS searches", "0 AS clicks")
    answered = clicked.selectExpr("phrase", "0 AS searches", "1 AS clicks")
    both = asked.union(answered).groupBy("phrase")
    return both.agg(F.sum("searches").alias("searches"), F.sum("clicks").alias("clicks"))
