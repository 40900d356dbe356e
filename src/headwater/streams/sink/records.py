"""Rows as records: the columns of Spark's Kafka sink, checked once and brought into one form.

`value` (text or bytes; null is a tombstone); also `key`, `topic`, `partition`, `headers`, `timestamp`.
"""

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from headwater.bulk.columns import HEADERS, TIMESTAMP
from headwater.errors import InvalidRequest
from headwater.streams.sink.options import SinkOptions

COLUMNS: Final = pa.schema(
    [
        ("value", pa.binary()),
        ("key", pa.binary()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("headers", HEADERS),
        ("timestamp", TIMESTAMP),
    ]
)
_HINT: Final = f"the sink takes the columns {', '.join(COLUMNS.names)}"


def refuse_unfit(schema: StructType, topic: str | None) -> None:
    """Raise `InvalidRequest` for rows that cannot become records."""
    arrow = to_arrow_schema(schema, timezone="UTC")
    unknown = [each for each in arrow.names if each not in COLUMNS.names]
    if unknown:
        hint = f"{_HINT}: make one of the others with to_json(struct(...)).alias('value')"
        raise InvalidRequest(f"the sink has no use for column {unknown[0]!r}", hint=hint)
    if "value" not in arrow.names:
        raise InvalidRequest("the rows have no column 'value'", hint=_HINT)
    if topic is None and "topic" not in arrow.names:
        raise InvalidRequest(
            "there is no topic to write to", hint="set the option topic, or add a column topic"
        )
    for each in arrow:
        if not _fits(each.type, COLUMNS.field(each.name).type):
            wanted = COLUMNS.field(each.name).type
            raise InvalidRequest(f"column {each.name!r} is {each.type}, not {wanted}", hint=_HINT)


def records_of(rows: pa.RecordBatch, options: SinkOptions) -> pa.RecordBatch:
    """Bring rows into the form of `COLUMNS`; raises `InvalidRequest` for a row that cannot be."""
    arrays = []
    for field in COLUMNS:
        at = rows.schema.get_field_index(field.name)
        arrays.append(
            pa.nulls(rows.num_rows, field.type) if at < 0 else rows.column(at).cast(field.type)
        )
    records = pa.RecordBatch.from_arrays(arrays, schema=COLUMNS)
    _refuse_partitions(records["partition"])
    _refuse_headers(records["headers"])
    _refuse_times(records["timestamp"])
    topics = _topics(records["topic"], options)
    return records.set_column(COLUMNS.get_field_index("topic"), "topic", topics)


def _topics(named: pa.Array, options: SinkOptions) -> pa.Array:
    if options.topic is not None:
        whole = pa.nulls(len(named), named.type) if options.is_topic_of_all else named
        return whole.fill_null(options.topic)
    if named.null_count:
        raise InvalidRequest("a row has no topic", hint="set the option defaultTopic for such rows")
    return named


def _refuse_partitions(named: pa.Array) -> None:
    if named.null_count < len(named) and (least := pc.min(named).as_py()) < 0:
        raise InvalidRequest(
            f"a row names partition {least}", hint="they begin at 0; null leaves it to the key"
        )


def _refuse_headers(headers: pa.Array) -> None:
    each = headers.flatten()
    if each.null_count or each.field("key").null_count:
        raise InvalidRequest("a row has a header without a key", hint="only its value may be null")


def _refuse_times(times: pa.Array) -> None:
    """Kafka's producers refuse them too; to readers, -1 is a record without a time."""
    if times.null_count < len(times) and pc.min(times.cast(pa.int64())).as_py() < 0:
        raise InvalidRequest(
            "a row has a time before 1970", hint="no record can; null is the time of writing"
        )


def _fits(given: Any, wanted: pa.DataType) -> bool:
    if pa.types.is_binary(wanted):
        return bool(pa.types.is_binary(given) or pa.types.is_string(given))
    if pa.types.is_list(wanted):
        return bool(
            pa.types.is_list(given)
            and pa.types.is_struct(given.value_type)
            and [each.name for each in given.value_type] == ["key", "value"]
            and pa.types.is_string(given.value_type.field("key").type)
            and _fits(given.value_type.field("value").type, pa.binary())
        )
    return bool(given == wanted)
