"""What a pipeline declares of an output is what its queries give, or nothing runs."""

from collections.abc import Callable

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DoubleType, LongType, StructField, StructType

from headwater.errors import InvalidRequest
from streams.shop import Shop


def refusal_of(shop: Shop) -> str:
    with pytest.raises(InvalidRequest) as refusal:
        shop.runner.plan([shop.pipeline.graph()])
    message = str(refusal.value)
    assert "test_declared_and_given.py:" in message
    return message


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("id INT", "gives 'id' as bigint, but in the schema of 'copied' it is int"),
        ("number LONG", "gives the column 'id', which is not in the schema of 'copied'"),
        ("id LONG, total DOUBLE", "the column 'total' in its schema, but not in its result"),
        ("id LNG", "the schema of 'copied' cannot be read: id LNG"),
    ],
)
def test_a_schema_that_the_result_does_not_have_is_refused(
    shop: Shop, schema: str, words: str
) -> None:
    shop.pipeline.table(name="copied", schema=schema)(lambda orders: orders.select("id"))
    assert words in refusal_of(shop)


def test_types_of_spark_and_options_that_are_no_text_are_as_good_as_text(shop: Shop) -> None:
    line = StructType([StructField("unit price", DoubleType()), StructField("tax`", LongType())])
    schema = StructType([StructField("id", LongType()), StructField("lines", ArrayType(line))])
    options = {"failOnDataLoss": False, "maxOffsetsPerTrigger": 5}
    shop.pipeline.topic(shop.orders_topic, name="raw", schema=schema, options=options)
    shop.pipeline.table(name="copied", schema=schema)(lambda raw: raw)
    (planned,) = shop.runner.plan([shop.pipeline.graph()])
    assert planned.schema == schema
    assert not planned.must_stay


def test_a_schema_is_met_in_any_order_without_the_mark_of_deletions(shop: Shop) -> None:
    @shop.pipeline.materialized_view(key="id", schema="total DOUBLE, id LONG")
    def present(orders: DataFrame) -> DataFrame:
        return orders.select("id", "total", (F.col("total") < 0).alias("_deleted"))

    @shop.pipeline.table
    def seen(orders: DataFrame, present: DataFrame) -> DataFrame:
        return orders.select("id").join(present, "id")

    _, planned = shop.runner.plan([shop.pipeline.graph()])
    assert planned.schema.names == ["id", "total"]


def test_flows_that_give_one_column_two_types_are_refused(shop: Shop) -> None:
    shop.pipeline.create_streaming_table("all")
    shop.pipeline.append_flow(target="all", name="one")(lambda orders: orders.select("id"))
    shop.pipeline.append_flow(target="all", name="two")(
        lambda orders: orders.select(F.col("id").cast("string"))
    )
    message = refusal_of(shop)
    assert "'two' gives 'id' as string, but in 'one' (" in message
    assert "it is bigint" in message


def test_readers_of_a_table_see_the_columns_of_all_its_flows(shop: Shop) -> None:
    shop.pipeline.create_streaming_table("all")
    shop.pipeline.append_flow(target="all", name="one")(lambda orders: orders.select("id"))
    shop.pipeline.append_flow(target="all", name="two")(lambda orders: orders.select("total"))
    shop.pipeline.table(name="copied")(lambda all: all)  # noqa: A006
    planned = {each.flow.name: each for each in shop.runner.plan([shop.pipeline.graph()])}
    assert planned["copied"].schema.names == ["id", "total"]


def test_readers_of_a_table_may_find_null_where_one_of_its_flows_never_gives_it(shop: Shop) -> None:
    """Read as NOT NULL, rows of the other flow would become dead letters."""
    always = F.struct(F.lit("x").alias("never")).alias("nested")
    shop.pipeline.create_streaming_table("all")
    shop.pipeline.append_flow(target="all", name="one")(
        lambda orders: orders.select("id", F.lit("one").alias("source"), always)
    )
    shop.pipeline.append_flow(target="all", name="two")(lambda orders: orders.select("id"))
    shop.pipeline.table(name="copied")(lambda all: all)  # noqa: A006
    planned = {each.flow.name: each for each in shop.runner.plan([shop.pipeline.graph()])}
    assert "NOT NULL" in planned["one"].schema.toDDL()
    assert "NOT NULL" not in planned["copied"].schema.toDDL()


def with_a_map_by_numbers(orders: DataFrame) -> DataFrame:
    return orders.select(F.create_map("id", "total").alias("totals"))


def with_a_span_of_time(orders: DataFrame) -> DataFrame:
    return orders.select(F.expr("interval '1' day").alias("ago"))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (with_a_map_by_numbers, "'given' cannot be read: the keys of a map in JSON are text"),
        (with_a_span_of_time, "'given' cannot be read: "),
    ],
)
def test_a_table_that_no_query_could_read_back_is_refused_where_one_does(
    shop: Shop, body: Callable[[DataFrame], DataFrame], words: str
) -> None:
    shop.pipeline.table(name="given")(body)
    shop.runner.plan([shop.pipeline.graph()])
    shop.pipeline.table(name="copied")(lambda given: given)
    assert words in refusal_of(shop)


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ("counts MAP<INT, LONG>", "the keys of a map in JSON are text"),
        ("id LONG, name VARCHAR(3)", "a column of type VARCHAR(3) cannot be read from JSON"),
        ("id LONG, more VARIANT", "column 'more' of type VARIANT cannot be read from JSON"),
    ],
)
def test_a_schema_that_no_value_could_fill_is_refused(shop: Shop, schema: str, words: str) -> None:
    shop.pipeline.topic(shop.orders_topic, name="raw", schema=schema)
    shop.pipeline.table(name="copied")(lambda raw: raw)
    assert f"'raw' cannot be read: {words}" in refusal_of(shop)


def test_a_changelog_without_the_columns_of_its_key_is_refused(shop: Shop) -> None:
    shop.pipeline.changelog(shop.customers_topic, name="people", key="nr", schema="id LONG")
    shop.pipeline.materialized_view(name="copied", key="id")(lambda people: people)
    assert "has no column 'nr' for its key (hint: its columns are: id)" in refusal_of(shop)


def with_a_nested_key(orders: DataFrame) -> DataFrame:
    return orders.select(F.struct("id", "customer").alias("id"))


def with_an_interval(orders: DataFrame) -> DataFrame:
    return orders.select("id", F.expr("interval '1' day").alias("ago"))


def with_a_word_for_deleted(orders: DataFrame) -> DataFrame:
    return orders.select("id", F.lit("yes").alias("_deleted"))


def test_a_view_that_no_reader_could_follow_is_refused(shop: Shop) -> None:
    for body, words in (
        (with_a_nested_key, "a nested column cannot be a key"),
        (with_an_interval, "is not a type of a view's column"),
        (with_a_word_for_deleted, "'_deleted' of 'unfit' is string, not boolean"),
    ):
        shop.pipeline = shop.new_pipeline()
        shop.pipeline.materialized_view(name="unfit", key="id")(body)
        assert words in refusal_of(shop)


@pytest.mark.parametrize(
    ("key", "words"),
    [(["id", "id"], "the key of 'wrong' names 'id' twice"), ("_deleted", "no column '_deleted'")],
)
def test_a_key_that_no_record_could_have_is_refused(
    shop: Shop, key: str | list[str], words: str
) -> None:
    @shop.pipeline.table(key=key)
    def wrong(orders: DataFrame) -> DataFrame:
        return orders.select("id", F.lit(True).alias("_deleted"))

    assert words in refusal_of(shop)
