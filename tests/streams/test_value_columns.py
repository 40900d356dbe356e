"""Columns that no JSON value can fill are refused where the schema is given, by Spark's name for them."""

import pytest
from pyspark.sql.types import (
    ArrayType,
    CalendarIntervalType,
    CharType,
    DataType,
    DayTimeIntervalType,
    IntegerType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
    TimeType,
    VarcharType,
    VariantType,
)

from headwater.errors import InvalidRequest, NotSupported
from headwater.streams.source.options import SourceOptions
from headwater.streams.source.rows import refuse_unreadable, schema_of


def structure(*fields: tuple[str, DataType]) -> StructType:
    return StructType([StructField(*each) for each in fields])


def schema_with(values: str) -> str:
    given = {"subscribe": "orders", "valueSchema": values, "kafka.bootstrap.servers": "x:1"}
    return schema_of(SourceOptions.of(given, is_stream=None))


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (VariantType(), "VARIANT"),
        (VarcharType(3), r"VARCHAR\(3\)"),
        (CharType(3), r"CHAR\(3\)"),
        (DayTimeIntervalType(), "INTERVAL DAY TO SECOND"),
        (CalendarIntervalType(), "INTERVAL"),
        (NullType(), "VOID"),
        (TimeType(), r"TIME\(6\)"),
    ],
)
def test_a_type_that_would_make_every_value_a_dead_letter_is_refused(
    kind: DataType, name: str
) -> None:
    sentence = f"of type {name} cannot be read from JSON .*declare it as STRING"
    with pytest.raises(NotSupported, match=f"column 'x' {sentence}"):
        refuse_unreadable(structure(("id", IntegerType()), ("x", kind)))
    inner = structure(("b", ArrayType(MapType(StringType(), kind))))
    with pytest.raises(NotSupported, match=f"column 'a.b' {sentence}"):
        refuse_unreadable(structure(("a", inner)))


@pytest.mark.parametrize("kind", ["VARCHAR(3)", "char (3)", "STRUCT<a: Character(3)>"])
def test_text_of_some_length_is_refused_before_spark_plans_with_it(kind: str) -> None:
    with pytest.raises(NotSupported, match=r"CHAR.* cannot be read from JSON"):
        schema_with(f"id INT, x {kind}")


def test_names_and_comments_may_speak_of_such_types() -> None:
    ddl = "`char(3)` STRING COMMENT 'was a varchar(3)', varchar STRING COMMENT \"char(1)\""
    assert schema_with(ddl) == ddl


def test_a_column_named_twice_is_refused_wherever_it_is() -> None:
    twice = structure(("id", IntegerType()), ("id", IntegerType()))
    with pytest.raises(InvalidRequest, match="the schema has column 'id' twice"):
        refuse_unreadable(twice)
    with pytest.raises(InvalidRequest, match=r"the schema has column 'a\.id' twice"):
        refuse_unreadable(structure(("a", ArrayType(twice))))
