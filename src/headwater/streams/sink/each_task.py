"""The sink: rows into topics, exactly once, whatever process dies at whatever point.

Each task writes its rows in one Kafka transaction that also commits `batch id + 1` as the position of a
marker group. A task that runs again sees the marker and writes nothing. Markers are keyed by the
checkpoint's query id, so a new checkpoint starts from nothing. Needs only what every Kafka has.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING
from uuid import uuid4

from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from headwater.crash_points import reached
from headwater.streams.sink.options import SinkOptions
from headwater.streams.sink.transactions import Transaction, transactional

if TYPE_CHECKING:
    import pyarrow as pa

QUERY_ID = "sql.streaming.queryId"
BATCH_ID = "streaming.sql.batchId"


@dataclass
class Written(WriterCommitMessage):
    rows: int
    is_repeated: bool
    """The rows were in the topic already: an earlier attempt had finished."""


class StreamSink(DataSourceStreamArrowWriter):
    """One transaction for each task of a batch."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> Written:
        context = TaskContext.get()
        assert context is not None
        query_id = context.getLocalProperty(QUERY_ID)
        batch_id = int(context.getLocalProperty(BATCH_ID) or 0)
        task = f"{query_id}-{context.partitionId()}"
        return write_once(self._options, task, batch_id, iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Every task has committed its own rows."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Rows of tasks that finished stay; the batch is repeated and finds their markers."""


class BatchSink(DataSourceArrowWriter):
    """`df.write`: the same for a job that runs once."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options
        self._job = str(uuid4())

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> Written:
        context = TaskContext.get()
        assert context is not None
        task = f"{self._job}-{context.partitionId()}"
        return write_once(self._options, task, 0, iterator)


def write_once(
    options: SinkOptions, task: str, batch_id: int, batches: "Iterator[pa.RecordBatch]"
) -> Written:
    """Write the rows, unless this task of this batch has been written before."""
    first = next((each for each in batches if each.num_rows), None)
    if first is None:
        return Written(0, is_repeated=False)
    producer = transactional(options, task)
    if producer.next_batch > batch_id:
        return Written(0, is_repeated=True)
    with Transaction(producer) as transaction:
        rows = transaction.send(first)
        reached("sink: after the first rows")
        for each in batches:
            rows += transaction.send(each)
        reached("sink: before commit")
        transaction.commit(next_batch=batch_id + 1)
    reached("sink: after commit")
    return Written(rows, is_repeated=False)
