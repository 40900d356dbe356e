"""The sink that shows a whole batch at once: rows wait in files until the batch is complete.

Tasks write Arrow files beside the checkpoint; the driver sends them in one transaction with the marker.
Attempts that were not accepted leave files that nobody reads. Rows need not be the same when a batch is
repeated: whoever commits first has written it.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceStreamArrowWriter, WriterCommitMessage

from headwater.crash_points import reached
from headwater.errors import InvalidRequest
from headwater.streams.sink.each_task import BATCH_ID, QUERY_ID
from headwater.streams.sink.options import SinkOptions
from headwater.streams.sink.transactions import Transaction, transactional

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass
class Staged(WriterCommitMessage):
    """Rows of one task, in a file."""

    query_id: str
    file: str
    rows: int


class AtomicStreamSink(DataSourceStreamArrowWriter):
    def __init__(self, options: SinkOptions) -> None:
        if options.staging is None:
            raise InvalidRequest(
                "an atomic sink needs a place for rows that wait",
                hint='.option("checkpointLocation", ...), or .option("staging", folder)',
            )
        self._options = options
        self._staging = Path(options.staging.removeprefix("file:"))

    def write(self, iterator: "Iterator[pa.RecordBatch]") -> Staged:
        context = TaskContext.get()
        assert context is not None
        folder = self._staging / str(context.getLocalProperty(BATCH_ID))
        file = folder / f"{context.partitionId()}-{uuid4()}.arrow"
        rows = 0
        writer: pa.RecordBatchFileWriter | None = None
        for batch in iterator:
            if writer is None:
                folder.mkdir(parents=True, exist_ok=True)
                writer = pa.ipc.new_file(str(file), batch.schema)
            writer.write_batch(batch)
            rows += batch.num_rows
        if writer is not None:
            writer.close()
        reached("atomic sink: after staging")
        return Staged(str(context.getLocalProperty(QUERY_ID)), str(file), rows)

    def commit(self, messages: "Sequence[WriterCommitMessage | None]", batchId: int) -> None:  # noqa: N803
        """Send the accepted rows, unless this batch has been sent before."""
        staged = [each for each in messages if isinstance(each, Staged) and each.rows]
        if staged:
            reached("atomic sink: before the transaction")
            self._send(staged, batchId)
            reached("atomic sink: after commit")
        self._forget(batchId)

    def abort(self, messages: "Sequence[WriterCommitMessage | None]", batchId: int) -> None:  # noqa: N803, ARG002
        for each in messages:
            if isinstance(each, Staged):
                Path(each.file).unlink(missing_ok=True)

    def _send(self, staged: list[Staged], batch_id: int) -> None:
        producer = transactional(self._options, f"{staged[0].query_id}-atomic")
        if producer.next_batch > batch_id:
            return
        with Transaction(producer) as transaction:
            for each in staged:
                with pa.memory_map(each.file) as file, pa.ipc.open_file(file) as reader:
                    for place in range(reader.num_record_batches):
                        transaction.send(reader.get_batch(place))
                reached("atomic sink: between two tasks")
            transaction.commit(next_batch=batch_id + 1)

    def _forget(self, batch_id: int) -> None:
        """Remove what this batch and those before it have left."""
        for each in self._staging.glob("*"):
            if each.name.isdecimal() and int(each.name) <= batch_id:
                shutil.rmtree(each, ignore_errors=True)
