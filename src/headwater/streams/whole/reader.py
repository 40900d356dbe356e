"""One read of a whole topic: its ends are chosen once for a refresh, a dead letter is written once.

Spark plans a view once and runs its tasks in every refresh, so it is the tasks that ask for the ends.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from headwater.bulk.json_values import Parsed
from headwater.bulk.ranges import OffsetRange
from headwater.client.address import refuse_if_unreachable
from headwater.streams.changelog.pins import Pin
from headwater.streams.planning import refuse_if_planned
from headwater.streams.source.dead_letters import DeadLetters
from headwater.streams.source.options import SourceOptions
from headwater.streams.source.plan import Plan
from headwater.streams.source.reading import Task, read_task
from headwater.streams.source.rows import Rows, TypedRows, rows_of
from headwater.streams.source.short_circuit import data_directory
from headwater.streams.whole.reads import Reads


@dataclass(frozen=True, slots=True)
class Part(InputPartition):
    """One task: every `step`th partition from `first` on; which there are is known once it runs."""

    first: int
    step: int
    data_directory: Path | None


class WholeReader(DataSourceReader):
    def __init__(self, options: SourceOptions, schema: StructType, reads: Reads) -> None:
        self._options = options
        self._schema = schema
        self._reads = reads
        rows_of(options, schema)  # an unfit schema is an error now, not in the tasks

    def partitions(self) -> Sequence[InputPartition]:
        refuse_if_unreachable(self._options.log.address)
        with self._options.log.cluster() as cluster:
            count = len(Plan(self._options, cluster).partitions())
            directory = data_directory(cluster)
        return [Part(place, count, directory) for place in range(count)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, Part):
            return  # Spark's stand-in where there is nothing to read
        refuse_if_planned()
        for whole, middle in self._ranges():
            if whole.partition % partition.step != partition.first:
                continue
            for piece, rows in (
                (replace(whole, end=middle), self._rows_again()),
                (replace(whole, start=middle), rows_of(self._options, self._schema)),
            ):
                if piece.size:
                    yield from read_task(Task(piece, partition.data_directory), self._options, rows)

    def _ranges(self) -> Iterator[tuple[OffsetRange, int]]:
        """What to read of each partition, and up to where an earlier refresh has read it."""
        with self._options.log.cluster() as cluster:
            plan = Plan(self._options, cluster)
            pin = self._reads.up_to(lambda: _now(plan))
            starts = plan.start()
        before = self._reads.before()
        told = before.ends if before and before.topic_id == pin.topic_id else {}
        for place, start in starts.items():
            end = max(start, pin.ends.get(place.partition, start))
            middle = max(start, told.get(place.partition, start))
            yield OffsetRange(*place, start, end), min(middle, end)

    def _rows_again(self) -> Rows:
        values = self._options.values
        if values.format is None or values.fails_on_bad:
            return rows_of(self._options, self._schema)
        return _RowsAgain(self._schema, values)


class _RowsAgain(TypedRows):
    """Rows that an earlier refresh has read: their dead letters are written."""

    def _refuse(self, records: pa.RecordBatch, parsed: Parsed, letters: DeadLetters) -> None:
        pass


def _now(plan: Plan) -> Pin:
    """How far the topic reaches."""
    (topic,) = plan.topics().values()
    return Pin(topic.topic_id.hex(), {each.partition: end for each, end in plan.end().items()})
