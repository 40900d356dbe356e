"""Names that mean something to the source or to a changelog: in values, they are columns like others."""

import base64

from pyspark.sql import DataFrame, SparkSession

import headwater as hw

SENT = [("k1", {"id": 1}), ("k2", {"id": 2})]


def origin(rows: list) -> dict:
    return {row["id"]: (row["_offset"], row["_topic"], row["_key"]) for row in rows}


def test_where_a_record_came_from_is_kept_through_tables_and_views(spark: SparkSession) -> None:
    pipeline = hw.Pipeline("shop")
    options = {"metadata": "offset, topic, key"}
    pipeline.topic("shop.orders", schema="id LONG", options=options)

    @pipeline.table
    def traced(orders: DataFrame) -> DataFrame:
        return orders

    @pipeline.table
    def copied(traced: DataFrame) -> DataFrame:
        return traced

    @pipeline.materialized_view(key="id")
    def latest(traced: DataFrame) -> DataFrame:
        return traced

    @pipeline.materialized_view(key="id")
    def refreshed(latest: DataFrame) -> DataFrame:
        return latest

    found = hw.testing.run(pipeline, feed={"orders": [b"garbage", *SENT]}, spark=spark)
    keys = [base64.b64encode(key.encode()).decode() for key, _ in SENT]
    expected = {1: (1, "shop.orders", keys[0]), 2: (2, "shop.orders", keys[1])}
    for each in ("traced", "copied", "latest", "refreshed"):
        assert origin(found[each]) == expected, each


def test_a_changelog_may_have_columns_of_the_names_that_it_uses_itself(spark: SparkSession) -> None:
    pipeline = hw.Pipeline("shop")
    pipeline.changelog(
        "shop.customers",
        key="id",
        schema="id LONG, _deleted BOOLEAN, _key STRING",
        options={"metadata": "offset"},
    )

    @pipeline.materialized_view(key="id")
    def active(customers: DataFrame) -> DataFrame:
        return customers.where("NOT _deleted").drop("_deleted")

    rows = [
        {"id": 1, "_deleted": False, "_key": "a"},
        {"id": 2, "_deleted": True, "_key": "b"},
        {"id": 3, "_deleted": False, "_key": "c"},
    ]
    feed = [{"customers": rows}, {"customers": [('{"id": 3}', None)]}]
    found = hw.testing.run(pipeline, feed=feed, spark=spark)
    assert found["active"] == [{"id": 1, "_key": "a", "_offset": 0}]
