"""One task of a read: a range of offsets as rows, whatever happens to the log meanwhile."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from headwater.bulk.cluster import EARLIEST, LATEST, Cluster
from headwater.bulk.ranges import OffsetRange
from headwater.bulk.reader import BulkReader
from headwater.errors import OffsetOutOfRange
from headwater.streams.source.dead_letters import DeadLetters
from headwater.streams.source.options import SourceOptions
from headwater.streams.source.rows import Rows


@dataclass(frozen=True, slots=True)
class Task(InputPartition):
    """What one task reads."""

    wanted: OffsetRange
    data_directory: Path | None
    """Where the broker says that its data is: of use only on the broker's own machine."""


def read_task(task: Task, options: SourceOptions, rows: Rows) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a task; when it ends, its dead letters are stored."""
    with (
        options.log.cluster() as cluster,
        DeadLetters(options.log, options.values.query) as letters,
    ):
        reader = BulkReader(cluster, options.isolation, rows.with_headers, task.data_directory)
        for records in _records(reader, task.wanted, fails_on_loss=options.fails_on_data_loss):
            made = rows.of(records, letters)
            if made.num_rows:
                yield made


def _records(
    reader: BulkReader, wanted: OffsetRange, *, fails_on_loss: bool
) -> Iterator[pa.RecordBatch]:
    """Yield the records of a range; what is gone is skipped if that is allowed."""
    while wanted.size:
        try:
            for records in reader.read(wanted):
                yield records
                wanted = replace(wanted, start=records["offset"][-1].as_py() + 1)
        except OffsetOutOfRange as error:
            left = _what_is_left(reader.cluster, wanted, reader)
            if fails_on_loss:
                raise OffsetOutOfRange(
                    f"cannot read {wanted}: the log now reaches from {left.start} to {left.end}, "
                    "so records were deleted or expired before they were read",
                    hint="to go on without them, set failOnDataLoss to false",
                ) from error
            wanted = replace(
                wanted, start=max(wanted.start, left.start), end=min(wanted.end, left.end)
            )
        else:
            return


def _what_is_left(cluster: Cluster, wanted: OffsetRange, reader: BulkReader) -> OffsetRange:
    partition = wanted.topic_partition
    start = cluster.offsets({partition: EARLIEST}, reader.isolation)[partition]
    end = cluster.offsets({partition: LATEST}, reader.isolation)[partition]
    return replace(wanted, start=start, end=end)
