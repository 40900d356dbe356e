"""Bodies that ask for their inputs by name (`spark.readStream.table`), as Spark's own pipelines do."""

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame, SparkSession

from headwater.errors import InvalidRequest
from headwater.streams.pipeline import Pipeline
from streams.shop import Shop


def test_two_pipelines_do_not_read_each_others_topic_of_one_name(
    shop: Shop, new_topic: Callable[..., str]
) -> None:
    other = Pipeline(f"other-{shop.orders_topic}")
    other_topic = new_topic()
    other.topic(other_topic, name="orders", schema="id LONG")

    def copied(spark: SparkSession) -> DataFrame:
        return spark.readStream.table("orders").select("id")

    shop.pipeline.table(copied)
    other.table(copied)
    shop.order((1, 1, 1.0))
    shop.client.send(other_topic, {"id": 2})
    shop.runner.run_once([shop.pipeline.graph(), other.graph()])
    assert shop.values("copied") == [{"id": 1}]
    with shop.client.consumer(other.topic_of("copied", 1), until="end") as records:
        assert [each.value for each in records] == [{"id": 2}]


@pytest.mark.long
def test_every_query_over_one_changelog_knows_that_it_reads_it(shop: Shop) -> None:
    def names(spark: SparkSession) -> DataFrame:
        return spark.read.table("customers").groupBy("name").count()

    shop.pipeline.materialized_view(name="one")(names)
    shop.pipeline.materialized_view(name="two")(names)
    shop.client.send(shop.customers_topic, {"id": 1, "name": "Ada"}, key="1")
    with shop.running() as run:
        for each in ("one", "two"):
            status = run.wait_for(each, lambda status: status.rows == 1)
            assert status.reads == {"customers": shop.customers_topic}
        shop.client.send(shop.customers_topic, {"id": 2, "name": "Bob"}, key="2")
        for each in ("one", "two"):
            run.wait_for(each, lambda status: status.rows == 3)
    assert shop.latest("one").keys() == shop.latest("two").keys()


@pytest.mark.long
def test_what_is_read_by_name_is_filled_first_and_a_second_run_goes_on(shop: Shop) -> None:
    @shop.pipeline.table
    def third(spark: SparkSession) -> DataFrame:
        return spark.readStream.table("second")

    @shop.pipeline.table
    def second(spark: SparkSession) -> DataFrame:
        return spark.readStream.table("first")

    @shop.pipeline.table
    def first(spark: SparkSession) -> DataFrame:
        return spark.readStream.table("orders").select("id")

    for number in (1, 2):
        shop.order((number, 1, 1.0))
        found = shop.once()
        assert [row["id"] for row in shop.values("third")] == list(range(1, number + 1))
        assert [list(found[each].reads) for each in ("first", "second", "third")] == [
            ["orders"],
            ["first"],
            ["second"],
        ]


@pytest.mark.parametrize("schema", [None, "id LONG"])
def test_a_circle_by_name_is_refused_with_its_names(shop: Shop, schema: str | None) -> None:
    @shop.pipeline.table(schema=schema)
    def chicken(spark: SparkSession) -> DataFrame:
        return spark.readStream.table("egg")

    @shop.pipeline.table(schema=schema)
    def egg(spark: SparkSession) -> DataFrame:
        return spark.readStream.table("chicken")

    with pytest.raises(InvalidRequest, match="goes in a circle") as refusal:
        shop.runner.plan([shop.pipeline.graph()])
    message = str(refusal.value)
    assert "test_reading_by_name.py:" in message
    assert "chicken -> egg" in message
