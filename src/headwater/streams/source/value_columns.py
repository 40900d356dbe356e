"""Which columns values can fill, by Spark's types: Arrow's do not tell a VARIANT from a structure."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    FractionalType,
    IntegralType,
    MapType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from headwater.errors import InvalidRequest, NotSupported

_SCALARS: Final = (
    *(BooleanType, IntegralType, FractionalType, DecimalType, StringType, BinaryType),
    *(DateType, TimestampType, TimestampNTZType),
)
_QUOTED: Final = re.compile(r"`[^`]*`|'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_OF_SOME_LENGTH: Final = re.compile(r"\b(?:VAR)?CHAR(?:ACTER)?\s*\(\s*\d+\s*\)", re.IGNORECASE)


def arrow_schema(schema: StructType) -> pa.Schema:
    """Raises `InvalidRequest` or `NotSupported` for a column that no value could fill."""
    _refuse_columns(schema, "")
    return to_arrow_schema(schema, timezone="UTC")


def refuse_limited_text(ddl: str) -> None:
    """Raise `NotSupported` for VARCHAR(n) and CHAR(n), of which Spark has no columns to plan with."""
    found = _OF_SOME_LENGTH.search(_QUOTED.sub("``", ddl))
    if found is not None:
        raise _not_readable("a column", found[0].upper())


def _refuse_columns(kind: DataType, path: str) -> None:
    """`path` is the column's name; `a.b` is part b of column a."""
    if isinstance(kind, StructType):
        for name, count in Counter(kind.names).items():
            if count > 1:
                raise InvalidRequest(f"the schema has column {_joined(path, name)!r} twice")
    elif not isinstance(kind, (*_SCALARS, ArrayType, MapType)):
        raise _not_readable(f"column {path!r}", kind.simpleString().upper())
    for name, part in _parts(kind):
        _refuse_columns(part, _joined(path, name))


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path and name else path or name


def _parts(kind: DataType) -> Iterator[tuple[str, DataType]]:
    if isinstance(kind, StructType):
        yield from ((each.name, each.dataType) for each in kind)
    elif isinstance(kind, ArrayType):
        yield "", kind.elementType
    elif isinstance(kind, MapType):
        yield from (("", kind.keyType), ("", kind.valueType))


def _not_readable(column: str, kind: str) -> NotSupported:
    return NotSupported(f"{column} of type {kind} cannot be read from JSON", "declare it as STRING")
