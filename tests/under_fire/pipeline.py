"""What is made of the events: run by `headwater pipeline run`, as a user's own file would be."""

import os

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import headwater as hw

fire = hw.Pipeline("fire")
fire.topic(
    "fire.events",
    schema="id LONG, at TIMESTAMP, account LONG, product LONG, kind STRING, amount LONG",
    event_time="at",
    watermark="20 minutes",
    options={"maxOffsetsPerTrigger": os.environ.get("FIRE_BATCH", "250000")},
)
fire.changelog("fire.accounts", key="account", schema="account LONG, region STRING, visits LONG")


@fire.view
def unique(events: DataFrame) -> DataFrame:
    return events.dropDuplicatesWithinWatermark(["id"])


@fire.materialized_view(key=["minute", "product"])
def revenue(unique: DataFrame) -> DataFrame:
    """What was sold in each minute; an event that comes twice counts once."""
    minute = F.window("at", "1 minute").alias("minute")
    sold = F.when(F.col("kind") == "buy", F.col("amount")).otherwise(0)
    return unique.groupBy(minute, "product").agg(
        F.count("*").alias("events"), F.sum(sold).alias("total"), F.max("id").alias("last_id")
    )


@fire.table(key="id")
def purchases(events: DataFrame, accounts: DataFrame) -> DataFrame:
    """Every purchase as often as it was told, with the region of its account."""
    regions = accounts.select("account", "region")
    bought = events.filter("kind = 'buy'").join(regions, "account", "left")
    return bought.select("id", "account", "region", "amount")


@fire.materialized_view(key="account", atomic=True)
def totals(events: DataFrame) -> DataFrame:
    """What each account did so far."""
    return events.groupBy("account").agg(
        F.count("*").alias("events"), F.sum("amount").alias("total")
    )
