"""The sink that shows a whole batch at once: rows wait in files until the batch is complete.

Tasks write Arrow files beside the checkpoint; the driver sends them in one transaction with the marker.
Attempts that were not accepted leave files that nobody reads. Rows need not be the same when a batch is
repeated: whoever commits first has written it.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from headwater.crash_points import reached
from headwater.errors import InvalidRequest
from headwater.streams.sink.each_task import batch_of_task
from headwater.streams.sink.options import SinkOptions, StreamBatch
from headwater.streams.sink.transactions import Transaction, transactional

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass
class Staged(WriterCommitMessage):
    """Rows of one task, in a file."""

    batch: StreamBatch
    file: str
    rows: int


class Staging:
    """The files of waiting rows, and how they become visible."""

    def __init__(self, options: SinkOptions) -> None:
        if options.staging is None:
            raise InvalidRequest(
                "an atomic sink needs a place for rows that wait",
                hint='.option("checkpointLocation", ...), or .option("staging", folder)',
            )
        self._options = options
        self._staging = Path(options.staging.removeprefix("file:"))

    def stage(self, batch: StreamBatch, batches: "Iterator[pa.RecordBatch]") -> Staged:
        """Write the rows of this task to a file of its own."""
        context = TaskContext.get()
        assert context is not None
        folder = self._staging / str(batch.batch_id)
        file = folder / f"{context.partitionId()}-{uuid4()}.arrow"
        rows = 0
        writer: pa.RecordBatchFileWriter | None = None
        for each in batches:
            if writer is None:
                folder.mkdir(parents=True, exist_ok=True)
                writer = pa.ipc.new_file(str(file), each.schema)
            writer.write_batch(each)
            rows += each.num_rows
        if writer is not None:
            writer.close()
        reached("atomic sink: after staging")
        return Staged(batch, str(file), rows)

    def send(self, messages: "Sequence[WriterCommitMessage | None]") -> None:
        """Send the accepted rows, unless this batch has been sent before."""
        staged = [each for each in messages if isinstance(each, Staged)]
        with_rows = [each for each in staged if each.rows]
        if with_rows:
            reached("atomic sink: before the transaction")
            self._send(with_rows)
            reached("atomic sink: after commit")
        if staged:
            self._forget(staged[0].batch.batch_id)

    def discard(self, messages: "Sequence[WriterCommitMessage | None]") -> None:
        for each in messages:
            if isinstance(each, Staged):
                Path(each.file).unlink(missing_ok=True)

    def _send(self, staged: list[Staged]) -> None:
        batch = staged[0].batch
        producer = transactional(replace(self._options, batch=None), f"{batch.query_id}-atomic")
        if producer.next_batch > batch.batch_id:
            return
        with Transaction(producer) as transaction:
            for each in staged:
                with pa.memory_map(each.file) as file, pa.ipc.open_file(file) as reader:
                    for place in range(reader.num_record_batches):
                        transaction.send(reader.get_batch(place))
                reached("atomic sink: between two tasks")
            transaction.commit(next_batch=batch.batch_id + 1)

    def _forget(self, batch_id: int) -> None:
        """Remove what this batch and those before it have left."""
        for each in self._staging.glob("*"):
            if each.name.isdecimal() and int(each.name) <= batch_id:
                shutil.rmtree(each, ignore_errors=True)


class AtomicStreamSink(DataSourceStreamArrowWriter):
    def __init__(self, options: SinkOptions) -> None:
        self._staging = Staging(options)

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> Staged:
        return self._staging.stage(batch_of_task(), iterator)

    def commit(self, messages: "Sequence[WriterCommitMessage | None]", batchId: int) -> None:  # noqa: N803, ARG002
        self._staging.send(messages)

    def abort(self, messages: "Sequence[WriterCommitMessage | None]", batchId: int) -> None:  # noqa: N803, ARG002
        self._staging.discard(messages)


class AtomicBatchSink(DataSourceArrowWriter):
    """The same for `df.write`."""

    def __init__(self, options: SinkOptions) -> None:
        self._staging = Staging(options)
        self._batch = options.batch or StreamBatch(str(uuid4()), 0)

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> Staged:
        return self._staging.stage(self._batch, iterator)

    def commit(self, messages: "Sequence[WriterCommitMessage | None]") -> None:
        self._staging.send(messages)

    def abort(self, messages: "Sequence[WriterCommitMessage | None]") -> None:
        self._staging.discard(messages)
