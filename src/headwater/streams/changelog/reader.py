"""One read of a changelog: a batch pins its ends, each partition is brought up to its own."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from headwater.bulk import columns
from headwater.bulk.cluster import EARLIEST
from headwater.bulk.ranges import OffsetRange, TopicPartition
from headwater.bulk.reader import BulkReader
from headwater.streams.changelog.pins import Ends, Pins
from headwater.streams.changelog.snapshots import DELETED, KEY, Snapshots, collapse
from headwater.streams.source.dead_letters import DeadLetters
from headwater.streams.source.options import SourceOptions
from headwater.streams.source.plan import Plan
from headwater.streams.source.rows import TypedRows
from headwater.streams.source.short_circuit import data_directory

OFFSET: Final = "_offset"
MERGE_ROWS: Final = 2_000_000
"""Changes that are held before they are collapsed: bounds the memory of a first read."""


@dataclass(frozen=True, slots=True)
class Part(InputPartition):
    """One partition of the table; where it ends is known once a batch runs."""

    place: TopicPartition
    data_directory: Path | None


class ChangelogReader(DataSourceReader):
    def __init__(
        self, options: SourceOptions, schema: StructType, pins: Pins, snapshots: Snapshots
    ) -> None:
        self._options = options
        self._schema = schema
        self._pins = pins
        self._snapshots = snapshots
        self._rows()  # an unfit schema is an error now, not in the tasks

    def partitions(self) -> Sequence[InputPartition]:
        (topic,) = self._options.subscription.topics
        with self._options.log.cluster() as cluster:
            directory = data_directory(cluster)
            found = Plan(self._options, cluster).latest()
        return [Part(TopicPartition(topic, each.partition), directory) for each in found]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, Part):
            return  # Spark's stand-in where there is nothing to read
        number = partition.place.partition
        end = self._pins.ends(self._ends_now)[number]
        table = self._snapshots.at(number, end)
        if table is None:
            table = self._brought_up(partition, end)
            self._snapshots.keep(number, end, table)
        yield from table.drop_columns([KEY, DELETED]).to_batches()

    def _ends_now(self) -> Ends:
        with self._options.log.cluster() as cluster:
            found = Plan(self._options, cluster).latest()
        return {each.partition: end for each, end in found.items()}

    def _brought_up(self, part: Part, end: int) -> pa.Table:
        """The newest snapshot, and what has changed since."""
        start, table = self._snapshots.before(part.place.partition, end)
        pieces = [] if table is None else [table]
        waiting = 0
        for changes in self._changes(part, start, end):
            pieces.append(changes)
            waiting += changes.num_rows
            if waiting > MERGE_ROWS:
                pieces, waiting = [collapse(pa.concat_tables(pieces))], 0
        return collapse(pa.concat_tables(pieces))

    def _changes(self, part: Part, start: int, end: int) -> Iterator[pa.Table]:
        """Rows with the key they are of; at least one table, maybe without rows."""
        rows = self._rows()
        with self._options.log.cluster() as cluster, DeadLetters(self._options.log) as letters:
            nothing = pa.RecordBatch.from_pylist([], schema=columns.WITH_HEADERS)
            yield _with_deletions(nothing, rows, letters)
            first = max(start, cluster.offsets({part.place: EARLIEST})[part.place])
            if first >= end:
                return
            wanted = OffsetRange(*part.place, first, end)
            reader = BulkReader(
                cluster, self._options.isolation, rows.with_headers, part.data_directory
            )
            for records in reader.read(wanted):
                yield _with_deletions(records, rows, letters)

    def _rows(self) -> TypedRows:
        """Key and offset are read along: whose row it is, and whether it is a deletion."""
        fields = [StructField(KEY, BinaryType()), StructField(OFFSET, LongType())]
        values = replace(self._options.values, metadata=("key", "offset"))
        return TypedRows(StructType([*self._schema.fields, *fields]), values)


def _with_deletions(records: pa.RecordBatch, rows: TypedRows, letters: DeadLetters) -> pa.Table:
    """Parse the values; a record without a key is of no row, one without a value deletes its row."""
    keyed = records.filter(pc.is_valid(records["key"]))
    deleted = keyed["offset"].filter(pc.is_null(keyed["value"]))
    made = pa.Table.from_batches([rows.of(keyed, letters)])
    is_deleted = pc.is_in(made[OFFSET], value_set=deleted)
    return made.drop_columns([OFFSET]).append_column(DELETED, is_deleted)
