"""One read of a changelog: a batch pins its ends, each partition is brought up to its own."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from headwater.bulk.cluster import EARLIEST, Cluster, Topic
from headwater.bulk.ranges import OffsetRange, TopicPartition
from headwater.bulk.reader import BulkReader
from headwater.clock import Clock, SystemClock
from headwater.errors import OffsetOutOfRange
from headwater.streams.changelog.forgotten import has_forgotten
from headwater.streams.changelog.pins import Pin, Pins
from headwater.streams.changelog.snapshots import DELETED, KEY, Snapshot, Snapshots, collapse
from headwater.streams.planning import refuse_if_planned
from headwater.streams.source.dead_letters import DeadLetters
from headwater.streams.source.options import SourceOptions
from headwater.streams.source.plan import Plan
from headwater.streams.source.rows import TypedRows
from headwater.streams.source.short_circuit import data_directory

OFFSET: Final = "__headwater_offset"
MERGE_ROWS: Final = 2_000_000
"""Changes that are held before they are collapsed: bounds the memory of a first read."""
STAMP_MS: Final = 3_600_000
"""A topic that does not change is seen anew by every batch; so often is that written down."""


@dataclass(frozen=True, slots=True)
class Part(InputPartition):
    """One task: every `step`th partition from `first` on; which there are is known once a batch runs."""

    first: int
    step: int
    topic_id: str
    """Of the topic that was there when the query was planned."""
    data_directory: Path | None


class ChangelogReader(DataSourceReader):
    def __init__(
        self,
        options: SourceOptions,
        schema: StructType,
        pins: Pins,
        snapshots: Snapshots,
        clock: Clock | None = None,
    ) -> None:
        self._options = options
        self._schema = schema
        self._pins = pins
        self._snapshots = snapshots
        self._clock = clock or SystemClock()
        self._rows()  # an unfit schema is an error now, not in the tasks

    def partitions(self) -> Sequence[InputPartition]:
        with self._options.log.cluster() as cluster:
            directory = data_directory(cluster)
            topic = self._topic(cluster)
        count = len(topic.partitions)
        topic_id = topic.topic_id.hex()
        return [Part(place, count, topic_id, directory) for place in range(count)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, Part):
            return  # Spark's stand-in where there is nothing to read
        refuse_if_planned()
        part = partition
        pin = self._pins.of_this_batch(lambda: self._now(part))
        for number in sorted(pin.ends):
            if number % part.step == part.first:
                table = self._table(part, number, pin)
                yield from table.drop_columns([KEY, DELETED]).to_batches()

    def _now(self, part: Part) -> Pin:
        """How far the topic reaches; raises `OffsetOutOfRange` if it is another and may not be."""
        at_ms = self._clock.now_ms()
        with self._options.log.cluster() as cluster:
            topic = self._topic(cluster)
            found = Plan(self._options, cluster).latest({topic.name: topic})
        self._is_same(topic, part.topic_id)
        ends = {each.partition: end for each, end in found.items()}
        return Pin(topic.topic_id.hex(), ends, at_ms)

    def _table(self, part: Part, number: int, pin: Pin) -> pa.Table:
        topic_id = pin.topic_id or part.topic_id
        snapshots = self._snapshots.of_topic(topic_id, _kept(self._rows().schema))
        end = pin.ends[number]
        kept = snapshots.at(number, end)
        if kept is not None and pin.at_ms - kept.at_ms < STAMP_MS:
            return kept.rows
        if kept is None:
            table = self._made(part, topic_id, number, end, snapshots.before(number, end))
        else:
            table = kept.rows
        snapshots.keep(number, Snapshot(end, pin.at_ms, table))
        self._snapshots.forget_other_topics(topic_id)
        return table

    def _made(
        self, part: Part, topic_id: str, number: int, end: int, before: Snapshot | None
    ) -> pa.Table:
        """The table up to `end`, from an earlier one if all changes since are still in the topic."""
        nothing = _kept(self._rows().schema).empty_table()
        with self._options.log.cluster() as cluster:
            topic = self._topic(cluster)
            if not self._is_same(topic, topic_id):
                # A batch is repeated, and nothing of what it would still need is there.
                return before.rows if before else nothing
            place = TopicPartition(topic.name, number)
            if before and has_forgotten(cluster, place, before, self._clock.now_ms()):
                before = None
            wanted = OffsetRange(*place, before.end if before else 0, end)
            changes = self._changes(cluster, wanted, part.data_directory)
            return _brought_up(before.rows if before else nothing, changes)

    def _changes(
        self, cluster: Cluster, wanted: OffsetRange, data_directory: Path | None
    ) -> Iterator[pa.Table]:
        """Rows with the key they are of."""
        rows = self._rows()
        place = wanted.topic_partition
        first = max(wanted.start, cluster.offsets({place: EARLIEST})[place])
        if first >= wanted.end:
            return
        with DeadLetters(self._options.log, self._options.values.query) as letters:
            reader = BulkReader(cluster, self._options.isolation, rows.with_headers, data_directory)
            for records in reader.read(replace(wanted, start=first)):
                yield _with_deletions(records, rows, letters)

    def _topic(self, cluster: Cluster) -> Topic:
        (topic,) = Plan(self._options, cluster).topics().values()
        return topic

    def _is_same(self, topic: Topic, topic_id: str) -> bool:
        """Whether it is that topic; raises `OffsetOutOfRange` if it is not and must be."""
        is_same = topic.topic_id.hex() == topic_id
        if not is_same and self._options.fails_on_data_loss:
            raise OffsetOutOfRange(
                f"topic {topic.name!r} was deleted and made again while it was read",
                hint="to read what is there now, set failOnDataLoss to false",
            )
        return is_same

    def _rows(self) -> TypedRows:
        """Key and offset are read along: whose row it is, and whether it is a deletion."""
        return TypedRows(self._schema, self._options.values, {KEY: "key", OFFSET: "offset"})


def _kept(parsed: pa.Schema) -> pa.Schema:
    """The columns of a snapshot."""
    without_offset = parsed.remove(parsed.get_field_index(OFFSET))
    return without_offset.append(pa.field(DELETED, pa.bool_()))


def _brought_up(before: pa.Table, changes: Iterable[pa.Table]) -> pa.Table:
    """An earlier table, and what has changed since."""
    pieces = [before]
    waiting = 0
    for each in changes:
        pieces.append(each)
        waiting += each.num_rows
        if waiting > MERGE_ROWS:
            pieces, waiting = [collapse(pa.concat_tables(pieces))], 0
    return collapse(pa.concat_tables(pieces))


def _with_deletions(records: pa.RecordBatch, rows: TypedRows, letters: DeadLetters) -> pa.Table:
    """Parse the values; a record without a key is of no row, one without a value deletes its row."""
    keyed = records.filter(pc.is_valid(records["key"]))
    is_deletion = pc.is_null(keyed["value"])
    made = pa.Table.from_batches([rows.of(keyed.filter(pc.invert(is_deletion)), letters)])
    made = made.append_column(DELETED, pa.repeat(pa.scalar(False), made.num_rows))
    if pc.any(is_deletion).as_py():
        deletions = _deletions(keyed.filter(is_deletion), made.schema)
        made = pa.concat_tables([made, deletions]).sort_by(OFFSET)
    return made.drop_columns([OFFSET])


def _deletions(records: pa.RecordBatch, schema: pa.Schema) -> pa.Table:
    """Rows that say no more than whose row is gone: a column that is never null has nothing to say here."""
    known = {
        KEY: records["key"],
        OFFSET: records["offset"],
        DELETED: pa.repeat(pa.scalar(True), records.num_rows),
    }
    arrays = [known.get(each.name, pa.nulls(records.num_rows, each.type)) for each in schema]
    return pa.Table.from_arrays(arrays, schema=schema)
