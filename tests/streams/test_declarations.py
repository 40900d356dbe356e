"""What a declaration was given is taken as Spark would take it, or refused at once with its place."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame
from pyspark.sql.types import (
    ArrayType,
    DecimalType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from headwater.errors import InvalidRequest
from headwater.streams.datasets import Changelog, Table
from headwater.streams.discovery import find_pipelines
from headwater.streams.pipeline import Pipeline

ROW = StructType([StructField("id", LongType())])


@pytest.fixture
def shop() -> Pipeline:
    shop = Pipeline("shop")
    shop.topic("shop.orders", schema="id LONG")
    return shop


def copied(orders: DataFrame) -> DataFrame:
    return orders


def test_options_are_text_however_they_were_written(shop: Pipeline) -> None:
    given = {"failOnDataLoss": False, "includeHeaders": True, "maxOffsetsPerTrigger": 5}
    text = {"failOnDataLoss": "false", "includeHeaders": "true", "maxOffsetsPerTrigger": "5"}
    assert shop.topic("raw", options=given).options == text
    changelog = shop.changelog("people", key="id", schema="id LONG", options=given)
    assert changelog.options == text
    shop.table(spark_conf={"spark.sql.shuffle.partitions": 3})(copied)
    (query,) = shop.graph().queries
    assert query.spark_conf == {"spark.sql.shuffle.partitions": "3"}


def test_schemas_may_be_those_of_sparks_own_types(shop: Pipeline) -> None:
    orders = shop.topic("raw", schema=ROW)
    assert orders.schema == "`id` bigint"
    people = shop.changelog("people", key="id", schema=ROW)
    assert isinstance(people, Changelog)
    assert people.schema == "`id` bigint"
    assert shop.create_streaming_table("everything", schema=ROW).schema == "`id` bigint"
    shop.append_flow(target="everything")(copied)
    shop.table(name="checked", schema=ROW)(copied)
    checked = shop.graph().datasets["checked"]
    assert isinstance(checked, Table)
    assert checked.schema == "`id` bigint"


def test_names_in_a_schema_of_sparks_types_may_be_any() -> None:
    inner = StructType([StructField("a b", StringType()), StructField("c`d", DecimalType(9, 2))])
    schema = StructType(
        [
            StructField("x.y", ArrayType(inner)),
            StructField("by name", MapType(StringType(), inner), nullable=False),
        ]
    )
    written = Pipeline("shop").topic("raw", schema=schema).schema
    struct = "struct<`a b`: string, `c``d`: decimal(9,2)>"
    assert written == f"`x.y` array<{struct}>, `by name` map<string, {struct}> NOT NULL"


class Column:
    """As Spark's: what it is compared with becomes a part of it, and it is neither true nor false."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> Any:
        return self

    def __bool__(self) -> bool:
        raise ValueError

    def __repr__(self) -> str:
        return "Column<'x'>"


@pytest.mark.parametrize(
    ("declare", "words"),
    [
        (lambda shop: shop.topic(5), "5 at .* cannot be the name of a parameter"),
        (lambda shop: shop.topic("x", name=5), "5 at .* cannot be the name of a parameter"),
        (lambda shop: shop.topic("x", options={"a": None}), "the option 'a' cannot be None"),
        (lambda shop: shop.topic("x", options={5: "a"}), "the option 5 cannot be 'a'"),
        (lambda shop: shop.topic("x", options=["a"]), "the options at .* have no names"),
        (
            lambda shop: shop.changelog("x", key="id", schema="id LONG", options={"a": [1]}),
            r"the option 'a' cannot be \[1\]",
        ),
        (lambda shop: shop.table(spark_conf={"a": None})(copied), "the setting 'a' cannot be None"),
        (lambda shop: shop.topic("x", schema=LongType()), "the schema at .* has no columns"),
        (lambda shop: shop.table(schema=["id LONG"])(copied), "the schema at .* has no columns"),
        (lambda shop: shop.table(expect={"a": (1, "drop")})(copied), "'a' at .* condition 1 is"),
        (lambda shop: shop.table(expect={5: "id > 0"})(copied), "name 5 at .* is no text"),
        (lambda shop: shop.table(expect={"a": (Column(), "drop")})(copied), "Column.* no text"),
        (lambda shop: shop.table(expect={"a": ("id > 0", Column())})(copied), "no action Column"),
        (lambda shop: shop.table(expect=Column())(copied), "rules at .* have no names: Column"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_place(
    shop: Pipeline, declare: Callable[[Pipeline], object], words: str
) -> None:
    with pytest.raises(InvalidRequest, match=words) as refusal:
        declare(shop)
    assert "test_declarations.py:" in str(refusal.value)


@pytest.mark.parametrize(
    ("declare", "words"),
    [
        ("hw.Pipeline(None)", "None is not a name for a pipeline"),
        ("shop.table('t')", r"'t' is no function \(hint: .*name=\"t\""),
        ("shop.materialized_view(5)", "5 is no function"),
        ("shop.view('v')", "'v' is no function"),
        ("shop.append_flow(target='all')(5)", "5 is no function"),
    ],
)
def test_what_cannot_be_meant_in_a_file_is_refused_with_its_line(
    tmp_path: Path, declare: str, words: str
) -> None:
    file = tmp_path / "meant.py"
    file.write_text(f"import headwater as hw\nshop = hw.Pipeline('shop')\n{declare}\n")
    with pytest.raises(InvalidRequest, match=rf"meant\.py:3: {words}"):
        find_pipelines(file)
