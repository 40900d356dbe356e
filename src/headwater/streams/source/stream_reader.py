"""`spark.readStream.format("headwater")`: micro-batches of offsets, kept in Spark's checkpoint.

Spark writes down the end of every batch, but not the start of the first; asked again, "latest" would be
later, and what lies between would be lost. So the first end tells the start too (see `offsets.py`), unless
that is offset 0 everywhere.

A topic that was made anew and has grown past where the old one was read tells only by its id. So every end
tells the ids too: a reader that begins again has no other memory.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from headwater.bulk.cluster import Cluster, Topic
from headwater.bulk.ranges import OffsetRange, TopicPartition
from headwater.client.address import refuse_if_unreachable
from headwater.errors import Conflict, HeadwaterError, NotFound, OffsetOutOfRange
from headwater.streams.source.offsets import (
    Offsets,
    OffsetsJson,
    first_start,
    from_json,
    to_json,
    topic_ids,
)
from headwater.streams.source.options import SourceOptions
from headwater.streams.source.plan import Pacing, Plan, limited, tasks
from headwater.streams.source.reading import Task, read_task
from headwater.streams.source.rows import rows_of
from headwater.streams.source.short_circuit import data_directory

_CHECKPOINT: Final = "the checkpoint"
_READ_WHAT_IS_THERE: Final = "to read what is there now, set failOnDataLoss to false"


class StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Lives on the driver as long as the query; only `read` runs in tasks, in a copy of its own."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        rows_of(options, schema)  # an unfit schema is an error now, not in the tasks
        self._cluster: Cluster | None = None
        self._pacing = Pacing(options.pace)
        self._initial: OffsetsJson | None = None
        self._target: Offsets | None = None
        self._latest: Offsets | None = None
        self._first_seen_ids: dict[str, str] = {}
        """For offsets of earlier versions, which do not tell them."""

    def initialOffset(self) -> OffsetsJson:  # noqa: N802
        refuse_if_unreachable(self._options.log.address)
        self._initial = to_json(self._plan().start())
        return self._initial

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        limit = self._options.pace.max_offsets
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._target = self._plan().latest()

    def latestOffset(self, start: OffsetsJson, limit: ReadLimit) -> OffsetsJson:  # noqa: N802
        plan = self._plan()
        topics = plan.topics()
        ids = _ids_of(topics)
        self._first_seen_ids = {**ids, **self._first_seen_ids}
        anew = self._made_anew({**self._first_seen_ids, **topic_ids(start)}, ids)
        starts = _without(anew, from_json(start, _CHECKPOINT))
        self._latest = plan.latest(topics)
        ends = self._reachable(starts, self._latest)
        known = starts | plan.earliest(set(ends) - set(starts))
        if isinstance(limit, ReadMaxRows):
            ends = limited(known, ends, limit.max_rows)
        if start == self._initial:
            is_at_zero = not any(known.values()) and ends != starts
            return to_json(ends, first=None if is_at_zero else known, ids=ids)
        waits = self._target is None and not self._pacing.is_worth_it(known, ends)
        return start if waits or ends == starts else to_json(ends, ids=ids)

    def reportLatestOffset(self) -> OffsetsJson | None:  # noqa: N802
        return None if self._latest is None else to_json(self._latest)

    def partitions(self, start: OffsetsJson, end: OffsetsJson) -> Sequence[InputPartition]:
        starts, ends = from_json(start, _CHECKPOINT), from_json(end, _CHECKPOINT)
        if start == self._initial:
            first = first_start(end, _CHECKPOINT)
            starts = dict.fromkeys(ends, 0) if first is None else first
        ids = topic_ids(end)
        starts = _without(_others(topic_ids(start), ids), starts)
        there = _ids_of(self._connected().topics({each.topic for each in ends}))
        # A batch is run again, and nothing of what it would still need is there.
        ends = _without(self._made_anew(ids, there), ends)
        starts |= self._plan().earliest(set(ends) - set(starts))
        ranges = [self._range(each, starts[each], end) for each, end in ends.items()]
        directory = data_directory(self._connected())
        return [Task(each, directory) for each in tasks(ranges, self._options.pace)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, Task)
        return read_task(partition, self._options, rows_of(self._options, self._schema))

    def commit(self, end: OffsetsJson) -> None:
        """Nothing to do: progress is in Spark's checkpoint only."""

    def stop(self) -> None:
        if self._cluster is not None:
            self._cluster.close()

    def _reachable(self, starts: Offsets, latest: Offsets) -> Offsets:
        """Up to where a batch may go; raises an error if records would be lost and may not be."""
        for partition, start in starts.items() if self._options.fails_on_data_loss else ():
            if partition not in latest:
                raise self._not_read_any_more(partition, start)
            if start > latest[partition]:
                raise OffsetOutOfRange(
                    f"{partition} was read up to {start}, but ends at {latest[partition]}: "
                    "was the topic deleted and made again?",
                    hint=_READ_WHAT_IS_THERE,
                )
        if self._target is None:
            return latest
        return {
            each: min(end, latest[each]) for each, end in self._target.items() if each in latest
        }

    def _not_read_any_more(self, partition: TopicPartition, end: int) -> HeadwaterError:
        go_on = "to go on without it, set failOnDataLoss to false"
        topic = self._connected().topics([partition.topic]).get(partition.topic)
        if topic is None or partition.partition not in topic.partitions:
            return NotFound(f"{partition} does not exist any more", hint=go_on)
        return Conflict(
            f"{partition} was read up to {end}, but is no longer among what is read",
            hint=f"read it again, or {go_on}",
        )

    def _made_anew(self, before: Mapping[str, str], now: Mapping[str, str]) -> set[str]:
        """The topics that are others than before; raises `OffsetOutOfRange` if none may be."""
        found = _others(before, now)
        if found and self._options.fails_on_data_loss:
            raise OffsetOutOfRange(
                f"topic {min(found)!r} was deleted and made again while it was read",
                hint=_READ_WHAT_IS_THERE,
            )
        return found

    def _range(self, partition: TopicPartition, start: int, end: int) -> OffsetRange:
        if start > end:
            # The topic was made anew, and that may lose records: all that it has now is new.
            start = min(end, self._plan().earliest([partition])[partition])
        return OffsetRange(partition.topic, partition.partition, start, end)

    def _plan(self) -> Plan:
        return Plan(self._options, self._connected())

    def _connected(self) -> Cluster:
        if self._cluster is None:
            self._cluster = self._options.log.cluster()
        return self._cluster


def _ids_of(topics: Mapping[str, Topic]) -> dict[str, str]:
    return {name: topic.topic_id.hex() for name, topic in topics.items()}


def _others(before: Mapping[str, str], now: Mapping[str, str]) -> set[str]:
    """The topics that have another id now; one whose id was not known counts as the same."""
    return {name for name, topic_id in now.items() if before.get(name, topic_id) != topic_id}


def _without(topics: set[str], offsets: Offsets) -> Offsets:
    return {each: offset for each, offset in offsets.items() if each.topic not in topics}
