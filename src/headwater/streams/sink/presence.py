"""A sign that the query itself was here, beside the markers of its tasks.

A task without a marker may be a new one, or its marker was lost: it expired while the query stood still, or
the checkpoint lost the id of its query. Then nobody knows whether the batch was written. The sign tells
which of the two it is, and whether the batch was finished before. A query whose rows all name their topics
themselves leaves none.
"""

import contextlib
import json
from dataclasses import replace
from typing import Final, NamedTuple

from headwater.bulk.cluster import Cluster
from headwater.bulk.group_offsets import Committed, commit_offset, committed_offsets
from headwater.bulk.ranges import TopicPartition
from headwater.errors import Conflict, NotFound
from headwater.streams.sink.marker import Done, Write, Writer, decide, read_marker
from headwater.streams.sink.options import SinkOptions

_LIKELY_TASKS: Final = 200
"""So many may have begun a batch in any case: as many as Spark has after a shuffle by default."""
_MOST_TASKS: Final = 4096


class Sign(NamedTuple):
    """The query has finished every batch below `next_batch`."""

    topic: str
    next_batch: int
    tasks: int
    """In how many tasks a batch came at most; 0 if that is not known."""
    run: str | None = None
    """The run of the query that finished the last of them, if it was told."""

    @classmethod
    def of(cls, place: TopicPartition, committed: Committed) -> "Sign":
        fields = json.loads(committed.metadata or "{}")
        return cls(place.topic, committed.offset, fields.get("tasks", 0), fields.get("run"))

    def metadata(self) -> str:
        """Also for those who take a sign for a marker: one that tells of no rows."""
        fields = {"version": 0, "rows": 0, "part": False, "tasks": self.tasks, "run": self.run}
        return json.dumps(fields, separators=(",", ":"))


def leave_sign(  # noqa: PLR0913
    cluster: Cluster,
    options: SinkOptions,
    writer: Writer,
    batch_id: int,
    tasks: int,
    *,
    run: str | None,
    before: Sign | None,
) -> None:
    """Note that this run of the query has finished a batch, in so many tasks."""
    if options.topic is None:
        return
    refuse_if_gone(cluster, options, batch_id)
    if before is not None:
        refuse_other_topic(before.topic, options)
        tasks = max(tasks, before.tasks)
    ensure_topic(cluster, options, options.topic)
    sign = Sign(options.topic, batch_id + 1, tasks, run)
    committed = Committed(sign.next_batch, sign.metadata())
    commit_offset(cluster, writer.whole.name, TopicPartition(sign.topic, 0), committed)


def read_sign(cluster: Cluster, writer: Writer) -> Sign | None:
    """Return the sign of the last batch that the query has finished; None if it left none."""
    found = committed_offsets(cluster, writer.whole.name)
    signs = [Sign.of(*each) for each in found.items()]
    return max(signs, key=lambda each: each.next_batch, default=None)


def may_have_begun(sink: Writer, tasks: int, sign: Sign | None) -> list[Writer]:
    """The tasks of a batch that now has so many: it may have had others before."""
    count = max(tasks, _LIKELY_TASKS, 0 if sign is None else sign.tasks)
    return [replace(sink, task=each) for each in range(min(_MOST_TASKS, count))]


def to_do(cluster: Cluster, options: SinkOptions, writer: Writer, batch_id: int) -> Done | Write:
    """What a writer has to do in a batch, by what was written before; raises if that does not fit."""
    refuse_if_gone(cluster, options, batch_id)
    placed = read_marker(cluster, writer)
    if placed is not None:
        refuse_other_topic(placed.topic, options)
    decision = decide(placed and placed.marker, batch_id, writer)
    if isinstance(decision, Write):
        sign = read_sign(cluster, writer)
        if sign is not None:
            refuse_other_topic(sign.topic, options)
            _refuse_finished(sign, batch_id, writer)
        elif placed is None and options.topic is not None:
            _refuse_stranger(options, writer, batch_id)
    return decision


def ensure_topic(cluster: Cluster, options: SinkOptions, topic: str) -> None:
    """Create the topic that offsets are committed to, where nothing has been written to it yet."""
    if topic not in cluster.topics([topic]):
        with options.log.client() as client, contextlib.suppress(Conflict):
            client.admin.topics.create(topic)


def refuse_if_gone(cluster: Cluster, options: SinkOptions, batch_id: int) -> None:
    """Raise `NotFound` for a topic that was deleted; made anew, it would lack what was before."""
    if batch_id == 0 or options.topic is None:
        return
    if options.topic not in cluster.topics([options.topic]):
        raise NotFound(
            f"topic {options.topic!r} does not exist any more, and batch {batch_id} is not the first",
            hint="to fill it anew, begin with a new checkpoint",
        )


def refuse_other_topic(written: str, options: SinkOptions) -> None:
    """Raise `Conflict` if all rows go to one topic, and those before went to another.

    Two queries of one checkpoint have the same markers: each would skip what the other one wrote.
    """
    if options.is_topic_of_all and written != options.topic:
        raise Conflict(
            f"the query of this checkpoint has written to {written!r} before, not to {options.topic!r}",
            hint="each topic needs a query with a checkpoint of its own",
        )


def _refuse_finished(sign: Sign, batch_id: int, writer: Writer) -> None:
    """Every task that had rows of a finished batch has a marker of it, and would not write."""
    if sign.next_batch > batch_id:
        raise Conflict(
            f"batch {batch_id} comes again, but the query has finished {sign.next_batch} batches, "
            f"and {writer} has no marker of it: the checkpoint is older than what was written, "
            "or the rows are others than before",
            hint="go on from the newest checkpoint, or with a new one",
        )


def _refuse_stranger(options: SinkOptions, writer: Writer, batch_id: int) -> None:
    if batch_id > 0 and not options.writes_without_marker:
        raise Conflict(
            f"batch {batch_id} is not the first, but this sink has no marker of query "
            f"{writer.query_id}: nobody can tell whether the batch was written before",
            hint="the marker expired (offsets.retention.minutes), or the checkpoint is of another "
            "sink; to write the batch, set onMissingMarker to write for one run; "
            "in a pipeline, reset the query",
        )
