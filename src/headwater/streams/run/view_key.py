"""The key of a materialized view that names none: what its query groups by, or a column of its own.

That column, `_row_key`, stands in front of the others. Where a query groups by what cannot be a key, or by
nothing, it tells the group; where a query does not group at all, it is a hash of the row and the row's
number among its equals, so that a row which stays as it is keeps its key.
"""

from dataclasses import replace
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StructType, VariantType

from headwater.errors import InvalidRequest
from headwater.streams.datasets import Columns, MaterializedView, Table
from headwater.streams.run.columns import column
from headwater.streams.run.expectations import DELETED
from headwater.streams.run.grouping import grouping_columns
from headwater.streams.run.records import as_json, flatten_windows

ROW_KEY: Final = "_row_key"
OF_ALL_ROWS: Final = "all"
"""The key of the one row that a query makes of all rows."""
_HASH_LETTERS: Final = 32
_NESTED: Final = (ArrayType, MapType, StructType, VariantType)


def with_key(
    output: Table | MaterializedView, result: DataFrame, before: Columns | None
) -> tuple[Table | MaterializedView, DataFrame]:
    """The output with its key, and its rows with windows flattened.

    `before` is the key that it had when it ran last. Raises `InvalidRequest` for a view of a stream whose
    rows nothing tells apart.
    """
    rows = flatten_windows(result)
    if output.key or isinstance(output, Table):
        return output, rows
    told = grouping_columns(result)
    if told and (told == before or _can_be_key(told, rows)):
        return replace(output, key=told), rows
    if told is None and result.isStreaming:
        raise InvalidRequest(
            f"{output.location}: the key of {output.name!r} cannot be told from its query, "
            "which reads a stream",
            hint='name it: key="..." (for pyspark.pipelines: '
            'table_properties={"headwater.key": "..."}), or read tables by spark.read.table(...): '
            "then it is computed anew when they change",
        )
    if told is None and before == tuple(result.columns):
        return replace(output, key=before), rows
    _refuse_taken(output, rows)
    key = _of_row(rows) if told is None else _of_group(told)
    return replace(output, key=(ROW_KEY,)), rows.select(key.alias(ROW_KEY), "*")


def _can_be_key(columns: Columns, rows: DataFrame) -> bool:
    """Distinct rows may have a null anywhere, and a row with a null in its key is not served."""
    fields = [rows.schema[each] for each in columns]
    is_nested = any(isinstance(each.dataType, _NESTED) for each in fields)
    is_distinct = len(columns) == len(rows.columns) and any(each.nullable for each in fields)
    return not is_nested and not is_distinct


def _of_group(columns: Columns) -> Column:
    return _hash(columns) if columns else F.lit(OF_ALL_ROWS)


def _of_row(rows: DataFrame) -> Column:
    """Two rows whose hashes are the same by chance have different numbers as well."""
    columns = tuple(each for each in rows.columns if each != DELETED)
    number = F.row_number().over(
        Window.partitionBy(_hash(columns)).orderBy(as_json(columns), *_deletions_last(rows))
    )
    return F.concat_ws("-", _hash(columns), number)


def _deletions_last(rows: DataFrame) -> list[Column]:
    return [column(DELETED)] if DELETED in rows.columns else []


def _hash(columns: Columns) -> Column:
    return F.left(F.sha2(as_json(columns), 256), F.lit(_HASH_LETTERS))


def _refuse_taken(output: MaterializedView, rows: DataFrame) -> None:
    for each in rows.columns:
        if each.lower() == ROW_KEY:
            raise InvalidRequest(
                f"{output.location}: {output.name!r} has a column {each!r}, which is the name of the "
                "key of a view whose query tells none",
                hint="give it another name, or name a key",
            )
