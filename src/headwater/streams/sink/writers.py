"""What Spark calls to write: in tasks `write`, on the driver `commit` and `abort`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from headwater.streams.sink.atomic_writer import commit_batch, stage_task
from headwater.streams.sink.marker import Writer
from headwater.streams.sink.options import SinkOptions
from headwater.streams.sink.presence import leave_sign
from headwater.streams.sink.records import refuse_unfit
from headwater.streams.sink.task_writer import write_task

_QUERY_ID: Final = "sql.streaming.queryId"
_BATCH_ID: Final = "streaming.sql.batchId"
_ONLY_BATCH: Final = 0


@dataclass(frozen=True, slots=True)
class Written(WriterCommitMessage):
    """What a task tells the driver."""

    query_id: str
    staged: str | None = None
    """The file of an atomic batch with the rows of this task."""


class StreamWriter(DataSourceStreamArrowWriter):
    """Exactly once: by task, or with `atomic` by batch."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        refuse_unfit(schema, options.topic)
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        context = _task_context()
        query_id = context.getLocalProperty(_QUERY_ID)
        batch_id = context.getLocalProperty(_BATCH_ID)
        assert query_id is not None, "Spark sets it for every task of a stream"
        assert batch_id is not None, "Spark sets it for every task of a stream"
        task = context.partitionId()
        if self._options.staging is not None:
            staged = stage_task(iterator, self._options, task, int(batch_id))
            return Written(query_id, staged)
        write_task(iterator, self._options, Writer(query_id, task), int(batch_id))
        return Written(query_id)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """May be called more than once for a batch."""
        written = [each for each in messages if isinstance(each, Written)]
        if not written:
            return
        writer = Writer(written[0].query_id)
        if self._options.staging is None:
            leave_sign(self._options, writer, batchId)
        else:
            files = [each.staged for each in written if each.staged is not None]
            commit_batch(files, self._options, writer, batchId)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Nothing to take back: what is not committed is invisible, and staged rows go with the next."""


class BatchWriter(DataSourceArrowWriter):
    """A write is a query of one batch: a task that Spark runs again writes once."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        refuse_unfit(schema, options.topic)
        self._options = options
        self._write_id = uuid4().hex

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        writer = Writer(self._write_id, _task_context().partitionId())
        write_task(iterator, self._options, writer, _ONLY_BATCH)
        return Written(self._write_id)


def _task_context() -> TaskContext:
    context = TaskContext.get()
    assert context is not None, "Spark calls this in a task"
    return context
