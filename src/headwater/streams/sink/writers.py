"""What Spark calls to write: in tasks `write`, on the driver `commit` and `abort`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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

from headwater.errors import InvalidRequest
from headwater.streams.sink.atomic_writer import commit_batch, stage_task
from headwater.streams.sink.finishing import finish_batch
from headwater.streams.sink.marker import Writer
from headwater.streams.sink.options import SinkOptions
from headwater.streams.sink.records import refuse_unfit
from headwater.streams.sink.task_writer import write_task

QUERY_ID: Final = "sql.streaming.queryId"
BATCH_ID: Final = "streaming.sql.batchId"
JOB_GROUP: Final = "spark.jobGroup.id"
"""Of the jobs of a stream it is the id of its run, as long as a `foreachBatch` does not set another."""

Messages = Sequence[WriterCommitMessage | None]


@dataclass(frozen=True, slots=True)
class Written(WriterCommitMessage):
    """What a task tells the driver."""

    writer: Writer
    batch_id: int
    rows: int = 0
    """How many the task had, if it wrote them itself."""
    staged: str | None = None
    """The file of an atomic batch with the rows of this task."""
    run: str | None = None
    """Tells this run of the query from all others."""


class StreamWriter(DataSourceStreamArrowWriter):
    """Exactly once: by task, or with `atomic` by batch."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        refuse_unfit(schema, options.topic)
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        context = _task_context()
        batch_id = context.getLocalProperty(BATCH_ID)
        assert batch_id is not None, "Spark sets it for every task of a stream"
        writer = Writer(_query_id(context), context.partitionId())
        written = _write(iterator, self._options, writer, int(batch_id))
        return replace(written, run=context.getLocalProperty(JOB_GROUP))

    def commit(self, messages: Messages, batchId: int) -> None:  # noqa: ARG002, N803
        """May be called more than once for a batch."""
        _commit(messages, self._options)

    def abort(self, messages: Messages, batchId: int) -> None:  # noqa: N803
        """Nothing to take back: what is not committed is invisible, staged rows go with the next batch."""


class BatchWriter(DataSourceArrowWriter):
    """Inside `foreachBatch`, with its batch id, as a stream; else a query of one batch of its own."""

    def __init__(self, options: SinkOptions, schema: StructType) -> None:
        refuse_unfit(schema, options.topic)
        self._options = options
        self._write_id = uuid4().hex

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Written:
        context = _task_context()
        task = context.partitionId()
        if self._options.batch_id is None:
            return _write(iterator, self._options, Writer(self._write_id, task), batch_id=0)
        writer = Writer(_query_id(context), task, self._options.topic or "")
        written = _write(iterator, self._options, writer, self._options.batch_id)
        return replace(written, run=self._options.run_id)

    def commit(self, messages: Messages) -> None:
        if self._options.batch_id is not None:
            _commit(messages, self._options)


def _write(
    rows: Iterator[pa.RecordBatch], options: SinkOptions, writer: Writer, batch_id: int
) -> Written:
    if options.staging is None:
        return Written(writer, batch_id, rows=write_task(rows, options, writer, batch_id))
    return Written(writer, batch_id, staged=stage_task(rows, options, writer, batch_id))


def _commit(messages: Messages, options: SinkOptions) -> None:
    written = [each for each in messages if isinstance(each, Written)]
    if not written:
        return
    sink, batch_id = written[0].writer.whole, written[0].batch_id
    if options.staging is None:
        rows_of = {each.writer.task or 0: each.rows for each in written}
        finish_batch(options, sink, batch_id, rows_of, written[0].run)
    else:
        files = [each.staged for each in written if each.staged is not None]
        commit_batch(files, options, sink, batch_id, tasks=len(written))


def _task_context() -> TaskContext:
    context = TaskContext.get()
    assert context is not None, "Spark calls this in a task"
    return context


def _query_id(context: TaskContext) -> str:
    query_id = context.getLocalProperty(QUERY_ID)
    if query_id is None:
        raise InvalidRequest("option batchId is for writes inside foreachBatch of a stream")
    return query_id
