"""Records as the rows that were asked for: raw columns as they are, or typed columns from the value."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import pyarrow as pa
from pyspark.sql.types import StructType

from headwater.bulk import columns
from headwater.bulk.json_values import JsonParser, Parsed
from headwater.errors import InvalidRequest, UnreadableValue
from headwater.streams.source.dead_letters import DeadLetters
from headwater.streams.source.options import MARK, SourceOptions, ValueOptions
from headwater.streams.source.value_columns import arrow_schema, refuse_limited_text

RAW: Final = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, "
    "timestampType INT"
)
HEADERS: Final = "headers ARRAY<STRUCT<key: STRING, value: BINARY>>"
_DDL: Final = {each.split(" ", 1)[0]: each for each in (*RAW.split(", "), HEADERS)}
_NOTHING: Final[Mapping[str, str]] = MappingProxyType({})


def schema_of(options: SourceOptions) -> str:
    """The schema of a read as DDL, which Spark parses."""
    values = options.values
    if values.format is None:
        return f"{RAW}, {HEADERS}" if options.with_headers else RAW
    if values.schema is None:
        raise InvalidRequest(
            f"values in {values.format} have no schema yet",
            hint='set the option valueSchema, for example "id BIGINT, at TIMESTAMP"',
        )
    refuse_limited_text(values.schema)
    return ", ".join([values.schema, *(MARK + _DDL[each] for each in values.metadata)])


class RawRows:
    """The columns of Spark's Kafka source."""

    def __init__(self, schema: StructType, *, with_headers: bool) -> None:
        self.with_headers = with_headers
        expected = columns.WITH_HEADERS if with_headers else columns.WITHOUT_HEADERS
        if schema.names != expected.names or arrow_schema(schema) != expected:
            raise InvalidRequest(
                "a schema was given, but not how values are to be read",
                hint="set the option valueFormat to json",
            )

    def of(self, records: pa.RecordBatch, _: DeadLetters) -> pa.RecordBatch:
        return records


class TypedRows:
    """Columns parsed from the value, and those of the record that were asked for by `_name`.

    `beside` has names for columns of the record that stand behind them, whatever else is asked for.
    """

    with_headers = True  # dead letters keep theirs

    def __init__(
        self, schema: StructType, values: ValueOptions, beside: Mapping[str, str] = _NOTHING
    ) -> None:
        self._values = values
        self._of_record = {**values.of_record, **beside}
        wanted = arrow_schema(schema)
        of_value = _of_value(wanted, values.of_record)
        more = [pa.field(each, _type_of(of_record)) for each, of_record in beside.items()]
        self._schema = pa.schema([*wanted, *more])
        self._names = of_value.names
        self._parser = JsonParser(of_value)

    @property
    def schema(self) -> pa.Schema:
        return self._schema

    def of(self, records: pa.RecordBatch, letters: DeadLetters) -> pa.RecordBatch:
        """Parse the values; those that cannot be read go to the dead letters, or fail the task."""
        parsed = self._parser.parse(records["value"])
        if parsed.refused:
            self._refuse(records, parsed, letters)
            records = records.take(pa.array(parsed.positions))
        of_value = dict(zip(self._names, parsed.columns.flatten(), strict=True))
        arrays = [
            of_value[each.name] if each.name in of_value else records[self._of_record[each.name]]
            for each in self._schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _refuse(self, records: pa.RecordBatch, parsed: Parsed, letters: DeadLetters) -> None:
        first = parsed.refused[0]
        topic = records["topic"][first.position].as_py()
        if self._values.fails_on_bad:
            partition = records["partition"][first.position].as_py()
            offset = records["offset"][first.position].as_py()
            raise UnreadableValue(
                f"{topic}-{partition} has an unreadable value at offset {offset}: {first.reason}",
                hint="with badRecords=deadLetter such values go to a topic of their own",
            )
        letters.send(self._values.dead_letter_topic_of(topic), records, parsed.refused)


Rows = RawRows | TypedRows


def rows_of(options: SourceOptions, schema: StructType) -> Rows:
    """Raises `InvalidRequest` or `NotSupported` for a schema that cannot be filled."""
    if options.values.format is None:
        return RawRows(schema, with_headers=options.with_headers)
    return TypedRows(schema, options.values)


def refuse_unreadable(schema: StructType, of_record: Mapping[str, str] = _NOTHING) -> None:
    """Raise `InvalidRequest` or `NotSupported` for columns that no value could fill.

    `of_record` are the names of columns that are not to be filled from it.
    """
    JsonParser(_of_value(arrow_schema(schema), of_record))


def _of_value(schema: pa.Schema, of_record: Mapping[str, str]) -> pa.Schema:
    for each in schema:
        name = of_record.get(each.name)
        if name is not None and _type_of(name) != each.type:
            raise InvalidRequest(f"column {each.name} of the schema must be {_DDL[name]}")
    found = pa.schema([each for each in schema if each.name not in of_record])
    if not found.names:
        raise InvalidRequest("the schema has no column that comes from the value")
    return found


def _type_of(of_record: str) -> pa.DataType:
    return columns.WITH_HEADERS.field(of_record).type
