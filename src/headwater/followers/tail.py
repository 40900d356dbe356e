"""The newest changes of one topic, kept once and shared by everybody who watches it.

A ring of bounded size: whoever reads slower than changes arrive falls off its end, finds that out, and
nobody else is touched.
"""

import threading
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any, Final

from headwater.errors import OffsetOutOfRange
from headwater.followers.changes import Poll, Positions
from headwater.followers.rows_before import Before, before_each_part
from headwater.views import View

KEPT_BYTES: Final = 16 << 20
CHUNK_RECORDS: Final = 500
_RECORD_BYTES: Final = 200
"""What a record costs beside its bytes, roughly."""

_SHARED_TIMES: Final = 8
"""How much larger than a chunk all that is made of it may be, for readers to share."""
_SIZE: Final = object()


@dataclass(frozen=True, slots=True)
class Source:
    """What the changes are changes of."""

    tag: str = ""
    """Tells it from everything else that ever had the same name; empty: there is nothing yet."""
    view: View | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A few changes that became visible together with others."""

    poll: Poll
    source: Source
    fresh_ms: int
    """When what is known with it last was all that the topic held."""
    rejected: frozenset[int] = frozenset()
    """Places in the poll of records that are no changes."""
    before: Before | None = None
    shared: dict[Any, Any] = field(default_factory=dict)
    """Room for readers to share what they make of it."""

    @property
    def size_bytes(self) -> int:
        lengths = sum(len(each) for each in self.poll.values if each is not None)
        return lengths + _RECORD_BYTES * (len(self.poll) + 1)

    def share(self, name: Any, pieces: list[bytes]) -> None:
        """Keep events for others who want the same, while there is room: filters can be any number."""
        size = sum(map(len, pieces)) + _RECORD_BYTES
        kept: int = self.shared.get(_SIZE, 0)
        if kept == 0 or kept + size <= _SHARED_TIMES * self.size_bytes:
            self.shared[name], self.shared[_SIZE] = pieces, kept + size


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment of a tail: the number of the next chunk, and the positions before it."""

    epoch: int
    number: int
    positions: Positions
    source: Source

    def next(self, chunk: Chunk) -> "Mark":
        return replace(self, number=self.number + 1, positions=chunk.poll.next)


class Tail:
    """One writer, any number of readers, from any thread."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._lock = threading.Lock()
        self._chunks: deque[tuple[Chunk, int]] = deque()
        self._size = 0
        self._now = Mark(0, 0, {}, Source())
        self._listeners: list[Callable[[], None]] = []

    @property
    def now(self) -> Mark:
        return self._now

    def listen(self, listener: Callable[[], None]) -> None:
        """Call it after every change of this tail, from the writer's thread: it must be quick."""
        self._listeners.append(listener)

    def publish(
        self,
        poll: Poll,
        fresh_ms: int,
        rejected: frozenset[int] = frozenset(),
        before: Before | None = None,
    ) -> None:
        """Add what has just been committed."""
        source = self._now.source
        rows_before = _before_parts(source, poll, rejected, before)
        chunks = []
        for (start, part), rows in zip(parts_of(poll), rows_before, strict=False):
            here = frozenset(at - start for at in rejected if start <= at < start + len(part))
            chunks.append(Chunk(part, source, fresh_ms, here, rows))
        with self._lock:
            for chunk in chunks:
                self._keep(chunk, chunk.size_bytes)
                self._now = self._now.next(chunk)
            self._now = replace(self._now, positions={**self._now.positions, **poll.next})
        self._tell()

    def reset(self, positions: Positions, source: Source) -> None:
        """Begin anew: what was seen so far does not lead to what comes next."""
        with self._lock:
            self._chunks.clear()
            self._size = 0
            self._now = Mark(self._now.epoch + 1, 0, dict(positions), source)
        self._tell()

    def at(self, mark: Mark) -> Chunk | None:
        """The chunk that begins at this mark; None if it has not come yet.

        Raises `OffsetOutOfRange` if it is not kept any more, or the tail has begun anew.
        """
        with self._lock:
            back = self._now.number - mark.number
            if mark.epoch != self._now.epoch or back > len(self._chunks):
                raise OffsetOutOfRange("these changes are not kept any more")
            return self._chunks[-back][0] if back > 0 else None

    def find(self, positions: Positions) -> Mark | None:
        """The latest mark from which nothing behind these positions is missing, if there is one."""
        with self._lock:
            now, chunks = self._now, self._chunks
            if _is_before(now.positions, positions):
                return now
            # They only ever grow: the ring may hold tens of thousands of small chunks.
            fits = bisect_right(
                chunks, 0, key=lambda kept: not _is_before(kept[0].poll.start, positions)
            )
            if fits == 0:
                return None
            place = fits - 1
            first = now.number - len(chunks)
            return Mark(now.epoch, first + place, chunks[place][0].poll.start, now.source)

    def wake(self) -> None:
        """Make every reader look again."""
        self._tell()

    def _keep(self, chunk: Chunk, size: int) -> None:
        self._chunks.append((chunk, size))
        self._size += size
        while self._size > self._kept_bytes and len(self._chunks) > 1:
            self._size -= self._chunks.popleft()[1]

    def _tell(self) -> None:
        for each in self._listeners:
            each()


def _before_parts(
    source: Source, poll: Poll, rejected: frozenset[int], before: Before | None
) -> Iterable[Before | None]:
    if before is None or source.view is None or len(poll) <= CHUNK_RECORDS:
        return repeat(before)
    return before_each_part(source.view, poll, rejected, before, CHUNK_RECORDS)


def parts_of(poll: Poll) -> Iterator[tuple[int, Poll]]:
    """A poll in parts that are quickly encoded, each with the place of its first record."""
    positions = dict(poll.start)
    for start in range(0, len(poll), CHUNK_RECORDS):
        part = slice(start, start + CHUNK_RECORDS)
        partitions, offsets = poll.partitions[part], poll.offsets[part]
        after = positions | {
            p: offset + 1 for p, offset in dict(zip(partitions, offsets, strict=True)).items()
        }
        yield (
            start,
            Poll(
                keys=poll.keys[part],
                values=poll.values[part],
                partitions=partitions,
                offsets=offsets,
                timestamps_ms=poll.timestamps_ms[part],
                start=positions,
                next=after,
                headers=None if poll.headers is None else poll.headers[part],
            ),
        )
        positions = after


def _is_before(first: Positions, second: Positions) -> bool:
    return all(at <= second.get(partition, 0) for partition, at in first.items())
