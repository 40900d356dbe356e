"""A mistake in a body, or in how its inputs are read, is one sentence with the line to mend."""

import sys
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.errors import InvalidRequest
from headwater.streams.pipeline import Pipeline
from streams.shop import Shop


def line_of(body: Callable[..., Any], after: int) -> str:
    return f"test_mistakes_in_bodies.py:{body.__code__.co_firstlineno + after}: "


def with_an_unknown_name(orders: DataFrame) -> DataFrame:
    large = orders.filter("total > 1")
    return large.select(undefined)  # type: ignore[name-defined]  # noqa: F821


def with_an_unknown_attribute(orders: DataFrame) -> Any:
    large = orders.filter("total > 1")
    return large.nosuch


def with_a_wrong_argument(orders: DataFrame) -> DataFrame:
    large = orders.filter("total > 1")
    return large.withColumn("x", 5)  # type: ignore[arg-type]


def with_an_unknown_column(orders: DataFrame) -> DataFrame:
    large = orders.filter("total > 1")
    return large.select("totl")


def with_an_end(orders: DataFrame) -> DataFrame:
    large = orders.filter("total > 1")
    sys.exit(f"nothing in {large}")


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (with_an_end, "it ends the program that plans it"),
        (with_an_unknown_name, "NameError: name 'undefined' is not defined"),
        (with_an_unknown_attribute, "PySparkAttributeError: Attribute `nosuch` is not supported."),
        (with_a_wrong_argument, "PySparkTypeError: Argument `col` should be Column, got int."),
        (with_an_unknown_column, "A column, variable, or function parameter with name `totl`"),
    ],
)
def test_a_mistake_is_told_with_its_line(shop: Shop, body: Callable[..., Any], words: str) -> None:
    shop.pipeline.table(name="wrong")(body)
    with pytest.raises(InvalidRequest) as refusal:
        shop.runner.plan([shop.pipeline.graph()])
    message = str(refusal.value)
    assert line_of(body, 2) in message
    assert f"'wrong' cannot be planned: {words}" in message


def test_a_view_that_nothing_reads_is_planned_as_well(shop: Shop) -> None:
    shop.pipeline.table(name="copied")(lambda orders: orders)
    shop.pipeline.view(name="wrong")(with_an_unknown_column)
    shop.pipeline.view(name="read_by_no_query")(lambda wrong: wrong)
    with pytest.raises(InvalidRequest) as refusal:
        shop.runner.plan([shop.pipeline.graph()])
    message = str(refusal.value)
    assert line_of(with_an_unknown_column, 2) in message
    assert "'wrong' cannot be planned: " in message


def test_a_rule_that_no_stream_can_follow_is_named(shop: Shop) -> None:
    rules = {"paid": "total > 0", "first": "row_number() over (order by id) > 1"}
    shop.pipeline.table(name="copied", expect=rules)(lambda orders: orders)
    with pytest.raises(InvalidRequest) as refusal:
        shop.runner.plan([shop.pipeline.graph()])
    message = str(refusal.value)
    assert "test_mistakes_in_bodies.py:" in message
    assert "the rule 'first' of 'copied' cannot run on a stream: Window function" in message
    assert "__headwater" not in message


def test_a_constant_that_cannot_be_computed_is_told_before_anything_runs(shop: Shop) -> None:
    def wrong(orders: DataFrame) -> DataFrame:
        return orders.select("id", F.expr("cast('none' AS INT)").alias("n"))

    shop.pipeline.table(wrong)
    with pytest.raises(InvalidRequest) as refusal:
        shop.runner.plan([shop.pipeline.graph()])
    message = str(refusal.value)
    assert line_of(wrong, 0) in message
    assert "'wrong' cannot be planned: The value 'none'" in message


def test_a_wrong_option_of_a_topic_is_named_with_its_reason(shop: Shop) -> None:
    options = {"maxOffsetsPerTriger": "5"}
    declared = shop.pipeline.topic(shop.orders_topic, name="raw", schema="id LONG", options=options)
    shop.pipeline.table(name="copied")(lambda raw: raw)
    with pytest.raises(InvalidRequest) as refusal:
        shop.runner.plan([shop.pipeline.graph()])
    message = str(refusal.value)
    assert message.startswith(f"{declared.location}: 'raw' cannot be read: ")
    assert "meant: maxOffsetsPerTrigger?" in message
    assert "Traceback" not in message


def positional(orders: DataFrame, /) -> DataFrame:
    return orders


def starred(*orders: DataFrame) -> DataFrame:
    return orders[0]


@pytest.mark.parametrize("body", [positional, starred])
def test_a_parameter_that_cannot_be_given_by_name_is_refused(body: Callable[..., Any]) -> None:
    with pytest.raises(InvalidRequest, match="names no dataset") as refusal:
        Pipeline("shop").table(body)
    assert "test_mistakes_in_bodies.py:" in str(refusal.value)


def test_columns_that_differ_by_case_alone_are_refused(shop: Shop) -> None:
    shop.pipeline.table(name="twins")(lambda orders: orders.select("id", F.lit(1).alias("ID")))
    with pytest.raises(InvalidRequest, match="two columns 'id' and 'ID'"):
        shop.runner.plan([shop.pipeline.graph()])


@pytest.mark.long
def test_columns_with_dots_and_backticks_in_their_names_are_written(shop: Shop) -> None:
    @shop.pipeline.table(key="a.b", expect={"positive": "id > 0"})
    def odd(orders: DataFrame) -> DataFrame:
        return orders.select("id", F.lit(1).alias("a.b"), F.lit(2).alias("c`d"))

    shop.order((1, 1, 1.0))
    shop.once()
    assert shop.values("odd") == [{"id": 1, "a.b": 1, "c`d": 2}]
