"""The end of a batch that each task has written for itself: nothing of it may be there twice.

A task compares its rows with those that its own marker tells of. A batch that was cut short and comes again
in another number of tasks, or with its rows in other tasks, may miss such markers: those of tasks that have
no rows now, or are none any more. What they wrote, others have written again.

Nobody looks for them where the same run of the query has finished the batch before: then nobody has begun
this one earlier, and to look at hundreds of markers would take longer than to write many a batch.
"""

from collections.abc import Mapping, Sequence

from headwater.bulk.cluster import Cluster
from headwater.errors import Conflict
from headwater.streams.sink.marker import OTHER_ROWS_HINT, Writer, read_markers
from headwater.streams.sink.options import SinkOptions
from headwater.streams.sink.presence import leave_sign, may_have_begun, read_sign


def finish_batch(
    options: SinkOptions,
    sink: Writer,
    batch_id: int,
    rows_of: Mapping[int, int],
    run: str | None = None,
) -> None:
    """Leave the sign of a batch whose tasks had so many rows; raises `Conflict` if some are doubled.

    `run` tells this run of the query from all others; None if nothing does.
    """
    with options.log.cluster() as cluster:
        sign = read_sign(cluster, sink)
        is_new = sign is not None and (sign.run, sign.next_batch) == (run, batch_id)
        if run is None or not is_new:
            tasks = may_have_begun(sink, len(rows_of), sign)
            _refuse_doubled(cluster, tasks, batch_id, rows_of)
        leave_sign(cluster, options, sink, batch_id, len(rows_of), run=run, before=sign)


def _refuse_doubled(
    cluster: Cluster, tasks: Sequence[Writer], batch_id: int, rows_of: Mapping[int, int]
) -> None:
    silent = [each for each in tasks if not rows_of.get(each.task or 0)]
    for writer, (_, marker) in read_markers(cluster, silent).items():
        if marker.has_begun(batch_id) and marker.written.rows:
            raise Conflict(
                f"batch {batch_id} comes again in other tasks than before: {writer} has written "
                f"{marker.written.rows} rows of it (or of a later one), and has none now, so others "
                "may have written them a second time",
                hint=OTHER_ROWS_HINT,
            )
