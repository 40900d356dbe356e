"""Result rows as records: key and value in JSON, rows under quarantine to their own topic.

The form is the contract of `docs/formats/views.md`; Spark writes it, no row passes through Python.
"""

from collections.abc import Iterable
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, StructType, TimestampType

from headwater.errors import InvalidRequest
from headwater.streams.datasets import MaterializedView, Table
from headwater.streams.run import expectations
from headwater.streams.run.columns import column
from headwater.streams.run.expectations import DELETED

RULES_HEADER: Final = "headwater.broken-rules"
_JSON: Final = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
    "ignoreNullFields": "false",
    # One instant is one key, in whatever zone a query computes.
    "timeZone": "UTC",
}


def flatten_windows(frame: DataFrame) -> DataFrame:
    """Replace each window column by its start, and `<name>_end` beside it."""
    columns: list[Column] = []
    for each in frame.schema.fields:
        if _is_window(each.dataType):
            columns += [
                column(each.name, "start").alias(each.name),
                column(each.name, "end").alias(f"{each.name}_end"),
            ]
        else:
            columns.append(column(each.name))
    return frame.select(*columns)


def to_records(frame: DataFrame, output: Table | MaterializedView) -> DataFrame:
    """Turn flattened rows into the columns that the sink writes: key, value, topic, headers."""
    judged = expectations.apply(frame, output.expectations)
    columns = [each for each in frame.columns if each != DELETED]
    value = as_json(columns)
    if DELETED in frame.columns:
        value = F.when(~expectations.is_deleted(frame), value)
    key = as_json(output.key) if output.key else F.lit(None).cast("string")
    selected = [key.cast("binary").alias("key"), value.cast("binary").alias("value")]
    if any(rule.action == "quarantine" for rule in output.expectations):
        is_broken = F.size(expectations.BROKEN) > 0
        topic = F.when(is_broken, F.lit(output.quarantine)).otherwise(F.lit(output.topic))
        selected += [topic.alias("topic"), _rules_header(is_broken)]
    return judged.select(*selected)


def as_json(columns: Iterable[str]) -> Column:
    """These columns of a row as one object."""
    return F.to_json(F.struct(*(column(each) for each in columns)), _JSON)


def written(schema: StructType) -> StructType:
    """The columns that are in the values of records."""
    return StructType([each for each in schema.fields if each.name != DELETED])


def refuse_unfit(schema: StructType, output: Table | MaterializedView) -> None:
    """A result without its key columns can never be written."""
    names = written(schema).names
    for place, each in enumerate(output.key):
        if each not in names:
            raise InvalidRequest(
                f"{output.location}: {output.name!r} has no column {each!r} for its key",
                hint=f"its columns are: {', '.join(names)}",
            )
        if each in output.key[:place]:
            raise InvalidRequest(
                f"{output.location}: the key of {output.name!r} names {each!r} twice",
                hint="name each column once",
            )
    if DELETED in schema.names and not isinstance(schema[DELETED].dataType, BooleanType):
        raise InvalidRequest(
            f"{output.location}: {DELETED!r} of {output.name!r} is "
            f"{schema[DELETED].dataType.simpleString()}, not boolean",
            hint="a row in which it is true deletes its key",
        )


def refuse_twins(columns: list[str], output: Table | MaterializedView) -> None:
    """Two columns of one name cannot both be written; to Spark, names that differ by case are one."""
    seen: dict[str, str] = {}
    for each in columns:
        other = seen.get(each.lower())
        if other is not None:
            names = repr(each) if other == each else f"{other!r} and {each!r}"
            raise InvalidRequest(
                f"{output.location}: {output.name!r} has two columns {names}",
                hint="rename or drop one of them in the body",
            )
        seen[each.lower()] = each


def _rules_header(is_broken: Column) -> Column:
    header = F.struct(
        F.lit(RULES_HEADER).alias("key"),
        F.array_join(expectations.BROKEN, ",").cast("binary").alias("value"),
    )
    return F.when(is_broken, F.array(header)).alias("headers")


def _is_window(kind: object) -> bool:
    return (
        isinstance(kind, StructType)
        and [each.name for each in kind.fields] == ["start", "end"]
        and all(isinstance(each.dataType, TimestampType) for each in kind.fields)
    )
