"""The sink: rows into topics, exactly once, whatever process dies at whatever point.

Each task writes its rows in one Kafka transaction that also commits `batch id + 1` as the position of a
marker group. A task that runs again sees the marker and writes nothing. Markers are keyed by the
checkpoint's query id, so a new checkpoint starts from nothing. Needs only what every Kafka has.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from uuid import uuid4

from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from headwater.crash_points import reached
from headwater.streams.sink.options import SinkOptions, StreamBatch
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
        return write_once(self._options, batch_of_task(), iterator)

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Every task has committed its own rows."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Rows of tasks that finished stay; the batch is repeated and finds their markers."""


class BatchSink(DataSourceArrowWriter):
    """`df.write`: the same for a job that runs once, or for a batch of a stream that is named."""

    def __init__(self, options: SinkOptions) -> None:
        self._options = options
        self._batch = options.batch or StreamBatch(str(uuid4()), 0)

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> Written:
        return write_once(self._options, self._batch, iterator)


def batch_of_task() -> StreamBatch:
    """The batch that this task belongs to, as the micro-batch engine says."""
    context = TaskContext.get()
    assert context is not None
    query_id, batch_id = (context.getLocalProperty(each) for each in (QUERY_ID, BATCH_ID))
    assert query_id is not None
    return StreamBatch(query_id, int(batch_id or 0))


def write_once(
    options: SinkOptions, batch: StreamBatch, batches: "Iterator[pa.RecordBatch]"
) -> Written:
    """Write the rows, unless this task of this batch has been written before."""
    context = TaskContext.get()
    assert context is not None
    first = next((each for each in batches if each.num_rows), None)
    if first is None:
        return Written(0, is_repeated=False)
    task = f"{batch.query_id}-{context.partitionId()}"
    producer = transactional(replace(options, batch=None), task)
    if producer.next_batch > batch.batch_id:
        return Written(0, is_repeated=True)
    with Transaction(producer) as transaction:
        rows = transaction.send(first)
        reached("sink: after the first rows")
        for each in batches:
            rows += transaction.send(each)
        reached("sink: before commit")
        transaction.commit(next_batch=batch.batch_id + 1)
    reached("sink: after commit")
    return Written(rows, is_repeated=False)
