"""A sign that the query itself was here, beside the markers of its tasks.

A task without a marker may be a new one, or its marker was lost: it expired while the query stood still, or
the checkpoint lost the id of its query. Then nobody knows whether the batch was written. The sign tells
which of the two it is. A query whose rows all name their topics themselves leaves none.
"""

import contextlib

from headwater.bulk.cluster import Cluster
from headwater.bulk.group_offsets import Committed, commit_offset, committed_offsets
from headwater.bulk.ranges import TopicPartition
from headwater.errors import Conflict, NotFound
from headwater.streams.sink.marker import Done, Write, Writer, decide, read_marker
from headwater.streams.sink.options import SinkOptions


def leave_sign(options: SinkOptions, writer: Writer, batch_id: int) -> None:
    """Note that the query has finished a batch."""
    if options.topic is None:
        return
    with options.log.cluster() as cluster:
        refuse_if_gone(cluster, options, batch_id)
        ensure_topic(cluster, options, options.topic)
        place = TopicPartition(options.topic, 0)
        commit_offset(cluster, writer.whole.name, place, Committed(batch_id + 1))


def to_do(cluster: Cluster, options: SinkOptions, writer: Writer, batch_id: int) -> Done | Write:
    """What a writer has to do in a batch, by what was written before; raises if that does not fit."""
    refuse_if_gone(cluster, options, batch_id)
    marker = read_marker(cluster, writer)
    if marker is None:
        refuse_stranger(cluster, options, writer, batch_id)
    return decide(marker, batch_id, writer)


def ensure_topic(cluster: Cluster, options: SinkOptions, topic: str) -> None:
    """Create the topic that offsets are committed to, where nothing has been written to it yet."""
    if topic not in cluster.topics([topic]):
        with options.log.client() as client, contextlib.suppress(Conflict):
            client.admin.topics.create(topic)


def refuse_if_gone(cluster: Cluster, options: SinkOptions, batch_id: int) -> None:
    """Raise `NotFound` for a topic that was deleted; made anew, it would lack what was before."""
    if batch_id == 0 or options.topic is None or options.writes_without_marker:
        return
    if options.topic not in cluster.topics([options.topic]):
        raise NotFound(
            f"topic {options.topic!r} does not exist any more, and batch {batch_id} is not the first",
            hint="to fill it anew, begin with a new checkpoint",
        )


def refuse_stranger(cluster: Cluster, options: SinkOptions, writer: Writer, batch_id: int) -> None:
    """Raise `Conflict` if this is not the first batch, and yet the query has left no sign."""
    if batch_id == 0 or options.topic is None or options.writes_without_marker:
        return
    if not committed_offsets(cluster, writer.whole.name):
        raise Conflict(
            f"batch {batch_id} is not the first, but this sink has no marker of query "
            f"{writer.query_id}: nobody can tell whether the batch was written before",
            hint="the marker expired (offsets.retention.minutes), or the checkpoint is of another "
            "sink; to write the batch, set onMissingMarker to write for one run",
        )
