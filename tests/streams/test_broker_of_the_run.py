"""`format("headwater")` in the body of a query: without an address, it is the broker of the run."""

import json

import pytest
from pyspark.sql import DataFrame, SparkSession

from headwater.errors import InvalidRequest
from streams.shop import Shop


def read(spark: SparkSession, topic: str, **options: str) -> DataFrame:
    return (
        spark.readStream.format("headwater")
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("valueSchema", "id LONG")
        .options(**options)
        .load()
    )


def test_a_body_that_names_no_broker_reads_from_that_of_the_run(shop: Shop) -> None:
    @shop.pipeline.table
    def copied(spark: SparkSession) -> DataFrame:
        return read(spark, shop.orders_topic).select("id")

    shop.order((1, 1, 1.0))
    status = shop.once()["copied"]
    assert (status.state, status.error) == ("done", None)
    assert shop.values("copied") == [{"id": 1}]


@pytest.mark.long
def test_a_body_that_names_a_broker_reads_from_that(shop: Shop) -> None:
    @shop.pipeline.table
    def copied(spark: SparkSession) -> DataFrame:
        elsewhere = {"kafka.bootstrap.servers": "127.0.0.1:1"}
        return read(spark, shop.orders_topic, **elsewhere).select("id")

    status = shop.once()["copied"]
    assert status.state == "failed"
    assert "cannot reach the broker at 127.0.0.1:1" in (status.error or "")


def test_a_mistake_in_sql_prints_no_pages_of_java(
    shop: Shop, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    @shop.pipeline.table(expect={"known": "unknown > 0"})
    def checked(orders: DataFrame) -> DataFrame:
        return orders

    with pytest.raises(InvalidRequest, match="a rule of 'checked' cannot be planned"):
        shop.once()
    assert [json.dumps(each.msg) for each in caplog.records] == []
    assert capfd.readouterr().err == ""
