"""`spark_conf=` is the flow's own: in force for it, gone for the next."""

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import headwater as hw
from headwater.errors import InvalidRequest
from streams.shop import Shop

ANSI = "spark.sql.ansi.enabled"
ZONE = "spark.sql.session.timeZone"


def as_number(orders: DataFrame) -> DataFrame:
    """Fails on every row, but not in a flow without ANSI mode."""
    return orders.select("id", F.expr("cast(concat('no. ', id) AS INT)").alias("n"))


def test_a_setting_holds_for_its_own_stream_alone(shop: Shop) -> None:
    shop.pipeline.table(name="lenient", spark_conf={ANSI: "false"})(as_number)
    shop.pipeline.table(name="strict")(as_number)
    shop.order((1, 1, 1.0))
    before = shop.spark.conf.get(ANSI)
    found = shop.once()
    assert {name: each.state for name, each in found.items()} == {
        "lenient": "done",
        "strict": "failed",
    }
    assert shop.values("lenient") == [{"id": 1, "n": None}]
    assert shop.spark.conf.get(ANSI) == before


@pytest.mark.long
def test_a_setting_holds_for_a_view_that_is_computed_anew(shop: Shop) -> None:
    def shown(customers: DataFrame) -> DataFrame:
        return customers.select("id", F.current_timezone().alias("zone"))

    shop.pipeline.materialized_view(name="far", key="id", spark_conf={ZONE: "+05:00"})(shown)
    shop.pipeline.materialized_view(name="near", key="id")(shown)
    shop.client.send(shop.customers_topic, {"id": 1, "name": "Ada"}, key="1")
    assert {each.state for each in shop.once().values()} == {"done"}
    assert [row["zone"] for row in shop.values("far")] == ["+05:00"]
    assert [row["zone"] for row in shop.values("near")] == ["UTC"]


def test_a_setting_of_spark_as_a_whole_is_refused(shop: Shop) -> None:
    conf = {ANSI: "false", "spark.executor.memory": "1g"}
    shop.pipeline.table(name="large", spark_conf=conf)(as_number)
    before = shop.spark.conf.get(ANSI)
    with pytest.raises(InvalidRequest, match=r"cannot have 'spark\.executor\.memory'") as refusal:
        shop.runner.plan([shop.pipeline.graph()])
    assert "test_flow_settings.py:" in str(refusal.value)
    assert shop.spark.conf.get(ANSI) == before


def test_the_zone_of_a_flow_changes_no_key_of_its_view(spark: SparkSession) -> None:
    """Servers of views take a time in one spelling only; in autumn an hour of the clock comes twice."""
    pipeline = hw.Pipeline("shop")
    pipeline.topic("shop.orders", schema="id LONG, at TIMESTAMP")

    @pipeline.materialized_view(key="hour", spark_conf={ZONE: "Europe/Berlin"})
    def hourly(orders: DataFrame) -> DataFrame:
        clock = F.date_format("at", "HH:mm").alias("clock")
        return orders.select(F.date_trunc("hour", "at").alias("hour"), clock)

    times = ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"]
    found = hw.testing.run(pipeline, feed={"orders": [{"at": each} for each in times]}, spark=spark)
    assert found.dead_letters == {}
    assert found["hourly"] == [
        {"hour": "2026-10-25T00:00:00.000000Z", "clock": "02:30"},
        {"hour": "2026-10-25T01:00:00.000000Z", "clock": "02:30"},
    ]
