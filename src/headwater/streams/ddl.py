"""Schemas as text: what a user writes as text or builds from Spark's types is kept as SQL would say it.

Spark has such a function too, but it needs a session; declaring needs none.
"""

from typing import TYPE_CHECKING, overload

from headwater.errors import InvalidRequest
from headwater.streams.locations import Location

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructField, StructType

    Schema = str | StructType


@overload
def ddl_of(schema: "Schema", location: Location) -> str: ...
@overload
def ddl_of(schema: "Schema | None", location: Location) -> str | None: ...
def ddl_of(schema: "Schema | None", location: Location) -> str | None:
    """`id LONG, total DOUBLE` as it is, a `StructType` as the same words; None stays None."""
    if schema is None or isinstance(schema, str):
        return schema
    from pyspark.sql.types import StructType  # noqa: PLC0415  who has one has imported it

    if not isinstance(schema, StructType):
        raise InvalidRequest(
            f"the schema at {location} has no columns: {schema!r}",
            hint='name columns and types: schema="id LONG, total DOUBLE", or give a StructType',
        )
    return ", ".join(_field(each, " ") for each in schema.fields)


def _field(field: "StructField", between: str) -> str:
    name = field.name.replace("`", "``")
    null = "" if field.nullable else " NOT NULL"
    return f"`{name}`{between}{_type(field.dataType)}{null}"


def _type(kind: "DataType") -> str:
    """As Spark calls it, but with names in quotes: its own text does not say where one ends."""
    from pyspark.sql.types import ArrayType, MapType, StructType  # noqa: PLC0415

    if isinstance(kind, StructType):
        return f"struct<{', '.join(_field(each, ': ') for each in kind.fields)}>"
    if isinstance(kind, ArrayType):
        return f"array<{_type(kind.elementType)}>"
    if isinstance(kind, MapType):
        return f"map<{_type(kind.keyType)}, {_type(kind.valueType)}>"
    return kind.simpleString()
