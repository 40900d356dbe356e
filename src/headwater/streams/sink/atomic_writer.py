"""A whole batch in one transaction: tasks stage their rows, the driver writes them.

What was committed first counts: a batch that runs again finds the marker and is dropped, even if its rows
are others now. So nothing is asked of the query, and readers see a batch whole or not at all.
"""

from collections.abc import Iterable, Sequence
from itertools import chain

import pyarrow as pa

from headwater.bulk.cluster import Cluster
from headwater.errors import Conflict
from headwater.streams.sink.fingerprint import Fingerprint
from headwater.streams.sink.marker import Marker, Write, Writer, read_markers
from headwater.streams.sink.options import SinkOptions
from headwater.streams.sink.presence import ensure_topic, may_have_begun, read_sign, to_do
from headwater.streams.sink.records import records_of
from headwater.streams.sink.staging import Staging
from headwater.streams.sink.transaction import Transactions


def stage_task(
    rows: Iterable[pa.RecordBatch], options: SinkOptions, writer: Writer, batch_id: int
) -> str | None:
    """Stage the rows of one task; returns the name of the file, None if there are no rows."""
    batches = (records_of(each, options) for each in rows if each.num_rows)
    first = next(batches, None)
    if first is None:
        return None
    return _staging(options, writer).write(batch_id, writer.task or 0, chain([first], batches))


def commit_batch(
    files: Sequence[str],
    options: SinkOptions,
    writer: Writer,
    batch_id: int,
    tasks: int = 0,
) -> None:
    """Write what so many tasks have staged, unless the batch is written already."""
    staging = _staging(options, writer)
    if files or options.topic is not None:
        with Transactions(options.log, writer) as transactions:
            cluster = transactions.cluster
            if isinstance(to_do(cluster, options, writer, batch_id), Write):
                _refuse_if_begun_by_tasks(cluster, writer, batch_id, tasks)
                written, topic = _write(files, staging, transactions)
                if topic is None:
                    topic = str(options.topic)
                    ensure_topic(cluster, options, topic)
                transactions.commit(Marker(batch_id + 1, written), topic)
    staging.remove_batches(batch_id)


def _refuse_if_begun_by_tasks(cluster: Cluster, writer: Writer, batch_id: int, tasks: int) -> None:
    """Raise `Conflict` if `atomic` was set in the middle of a batch: what tasks wrote would be doubled."""
    asked = may_have_begun(writer, tasks, read_sign(cluster, writer))
    for each, (_, marker) in read_markers(cluster, asked).items():
        if marker.has_begun(batch_id):
            raise Conflict(
                f"{each} has written rows of batch {batch_id} already, before atomic was set",
                hint="run it once without atomic, or begin with a new checkpoint",
            )


def _write(
    files: Sequence[str], staging: Staging, transactions: Transactions
) -> tuple[Fingerprint, str | None]:
    """Returns what was written, and one of the topics that it went to."""
    written = Fingerprint()
    topic: str | None = None
    for name in files:
        for records in staging.read(name):
            transactions.write(records)
            written = written.with_records(records)
            topic = topic or records["topic"][0].as_py()
    return written, topic


def _staging(options: SinkOptions, writer: Writer) -> Staging:
    assert options.staging is not None, "only an atomic sink stages"
    return Staging(f"{options.staging}/{writer.sink}" if writer.sink else options.staging)
