"""What a table or view was declared to hold, compared with what its flows give; readers rely on it."""

from collections.abc import Iterable, Sequence

from pyspark.errors import PySparkException
from pyspark.sql.types import ArrayType, DataType, MapType, StructField, StructType

from headwater.errors import InvalidRequest
from headwater.streams.datasets import Flow, MaterializedView, Table

Given = tuple[Flow, StructType]
"""A flow and the columns of its result, as they will be written."""


def refuse_unlike(output: Table | MaterializedView, given: Sequence[Given]) -> None:
    """The flows of an output agree with its schema, or, without one, with each other."""
    declared = _declared(output)
    known: dict[str, tuple[StructField, str]] = {
        each.name: (each, f"the schema of {output.name!r}") for each in declared.fields
    }
    for flow, schema in given:
        for each in schema.fields:
            if output.schema and each.name not in known:
                raise InvalidRequest(
                    f"{flow.location}: {flow.name!r} gives the column {each.name!r}, "
                    f"which is not in the schema of {output.name!r}",
                    hint=f"its schema is: {output.schema}",
                )
            other, whose = known.setdefault(each.name, (each, f"{flow.name!r} ({flow.location})"))
            if other.dataType.simpleString() != each.dataType.simpleString():
                raise InvalidRequest(
                    f"{flow.location}: {flow.name!r} gives {each.name!r} as "
                    f"{each.dataType.simpleString()}, but in {whose} "
                    f"it is {other.dataType.simpleString()}",
                    hint=f'cast it in the body: F.col("{each.name}").cast("...")',
                )
    _refuse_never_given(output, declared, given)


def as_read(schemas: Iterable[StructType]) -> str:
    """What a reader of the output declares: any column may be null.

    Rows of another flow, or of the query as it was before an upgrade, may lack what this one always gives.
    """
    found = _may_be_null(merged(schemas))
    assert isinstance(found, StructType)
    return found.toDDL()


def merged(schemas: Iterable[StructType]) -> StructType:
    """The columns of all: flows may each fill a part of them."""
    found: dict[str, StructField] = {}
    for schema in schemas:
        for each in schema.fields:
            found.setdefault(each.name, each)
    return StructType(list(found.values()))


def _may_be_null(kind: DataType) -> DataType:
    if isinstance(kind, StructType):
        return StructType([StructField(each.name, _may_be_null(each.dataType)) for each in kind])
    if isinstance(kind, ArrayType):
        return ArrayType(_may_be_null(kind.elementType))
    if isinstance(kind, MapType):
        return MapType(kind.keyType, _may_be_null(kind.valueType))
    return kind


def _declared(output: Table | MaterializedView) -> StructType:
    if output.schema is None:
        return StructType([])
    try:
        found = StructType.fromDDL(output.schema)
    except PySparkException as error:
        raise InvalidRequest(
            f"{output.location}: the schema of {output.name!r} cannot be read: {output.schema}",
            hint='name columns and types: schema="id LONG, total DOUBLE"',
        ) from error
    assert isinstance(found, StructType)
    return found


def _refuse_never_given(
    output: Table | MaterializedView, declared: StructType, given: Sequence[Given]
) -> None:
    names = merged(schema for _, schema in given).names
    missing = [each for each in declared.names if each not in names]
    if missing:
        raise InvalidRequest(
            f"{output.location}: {output.name!r} has the column {missing[0]!r} in its schema, "
            "but not in its result",
            hint=f"its columns are: {', '.join(names)}",
        )
