"""How far a query has written: an offset in Kafka, committed in the transaction of the rows themselves.

A writer's group has one committed offset: the next batch to write. Its metadata tells what was written
last, so that a replay can be compared, and how far into a batch a long task came (a part). The group has
the id of the checkpoint's query in its name: a new checkpoint starts anew, whatever its query is called.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from headwater.bulk.cluster import Cluster
from headwater.bulk.group_offsets import Committed, committed_offsets, committed_offsets_of
from headwater.bulk.ranges import TopicPartition
from headwater.errors import Conflict
from headwater.streams.sink.fingerprint import VERSION, Fingerprint

GROUP_PREFIX: Final = "headwater-sink"
OTHER_ROWS_HINT: Final = (
    "if the query was changed, run it once as it was before; else begin with a new checkpoint "
    "(in a pipeline: headwater pipeline reset), and with atomic=true, which allows other rows "
    "(rand, uuid, another number of tasks, a compacted topic)"
)
_UNKNOWN: Final = 0


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes: a query, maybe one sink of several, and one task unless a batch is one transaction."""

    query_id: str
    task: int | None = None
    sink: str = ""

    @property
    def name(self) -> str:
        """Names the transactions and the group of the marker; no topic has a `:` or `/` in its name."""
        sink = f":{self.sink}" if self.sink else ""
        task = "" if self.task is None else f"/{self.task}"
        return f"{GROUP_PREFIX}-{self.query_id}{sink}{task}"

    @property
    def whole(self) -> "Writer":
        """All tasks of the same sink, as one."""
        return replace(self, task=None)

    def __str__(self) -> str:
        return "the sink" if self.task is None else f"task {self.task}"


@dataclass(frozen=True, slots=True)
class Marker:
    """Every batch below `next_batch` is written, and of that one itself the `part`, if there is one."""

    next_batch: int
    written: Fingerprint
    is_part: bool = False

    def has_begun(self, batch_id: int) -> bool:
        """Whether rows of this batch, or of a later one, are written."""
        return self.next_batch > batch_id or (self.next_batch == batch_id and self.is_part)

    @property
    def progress(self) -> tuple[int, bool, int]:
        """Greater for what was committed later."""
        return self.next_batch, self.is_part, self.written.rows

    def metadata(self) -> str:
        fields = {
            "version": self.written.version,
            "rows": self.written.rows,
            "total": self.written.total,
            "order": self.written.order,
            "part": self.is_part,
        }
        return json.dumps(fields, separators=(",", ":"))

    @classmethod
    def of(cls, offset: int, metadata: str) -> "Marker":
        if not metadata:
            return cls(offset, Fingerprint(version=_UNKNOWN))
        fields = json.loads(metadata)
        version = fields.get("version", _UNKNOWN)
        if version != VERSION:
            return cls(offset, Fingerprint(fields["rows"], version=version), fields["part"])
        written = Fingerprint(fields["rows"], fields["total"], fields["order"])
        return cls(offset, written, fields["part"])


class Placed(NamedTuple):
    """A marker, and the topic whose offset it is: that of the first row of its batch."""

    topic: str
    marker: Marker


def read_marker(cluster: Cluster, writer: Writer) -> Placed | None:
    """Return what the writer has committed last; None if it never did."""
    return _newest(committed_offsets(cluster, writer.name))


def read_markers(cluster: Cluster, writers: Sequence[Writer]) -> dict[Writer, Placed]:
    """The same for many writers; those that never committed are left out."""
    found = committed_offsets_of(cluster, [each.name for each in writers]) if writers else {}
    markers = {each: _newest(found.get(each.name, {})) for each in writers}
    return {each: placed for each, placed in markers.items() if placed is not None}


def _newest(found: Mapping[TopicPartition, Committed]) -> Placed | None:
    placed = [Placed(place.topic, Marker.of(*each)) for place, each in found.items()]
    return max(placed, key=lambda each: each.marker.progress, default=None)


@dataclass(frozen=True, slots=True)
class Done:
    """The batch is written already: only compare."""

    written: Fingerprint


@dataclass(frozen=True, slots=True)
class Write:
    """Write what comes after the rows that were written before, if any."""

    after: Fingerprint


def decide(marker: Marker | None, batch_id: int, writer: Writer) -> Done | Write:
    """What a writer has to do in a batch; raises `Conflict` if the past does not fit."""
    if marker is None or marker.next_batch < batch_id:
        return Write(Fingerprint())
    if marker.next_batch == batch_id:
        return Write(marker.written if marker.is_part else Fingerprint())
    if marker.next_batch == batch_id + 1:
        return Done(marker.written)
    raise Conflict(
        f"batch {batch_id} comes again, but {writer} has written {marker.next_batch} batches: "
        "the checkpoint is older than what was written",
        hint="go on from the newest checkpoint, or with a new one",
    )


def refuse_other_rows(
    written: Fingerprint, now: Fingerprint, batch_id: int, writer: Writer
) -> None:
    """A replay must bring the rows that were written: else some would be doubled, others lost."""
    if not now.has_rows_of(written):
        raise _other_rows(written, now, batch_id, writer)


def refuse_other_order(
    written: Fingerprint, now: Fingerprint, batch_id: int, writer: Writer
) -> None:
    """A part that was written is skipped by counting rows: they must come in the same order."""
    if not now.has_order_of(written):
        raise _other_rows(written, now, batch_id, writer)


def _other_rows(written: Fingerprint, now: Fingerprint, batch_id: int, writer: Writer) -> Conflict:
    return Conflict(
        f"batch {batch_id} comes again with other rows than {writer} has written before "
        f"({written.rows} then, {now.rows} now, or other contents): the query is not the same, or "
        "what it reads was compacted or expired in between",
        hint=OTHER_ROWS_HINT,
    )
