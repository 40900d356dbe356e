"""The newest changes of one topic, kept once and shared by everybody who watches it.

A ring of bounded size: whoever reads slower than changes arrive falls off its end, finds that out, and
nobody else is touched.
"""

import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from headwater.followers.changes import Poll, Positions

KEPT_BYTES: Final = 16 << 20
_RECORD_BYTES: Final = 200
"""What a record costs beside its bytes, roughly."""

Before = Mapping[bytes, Mapping[str, Any] | None]
"""The row of each key before the changes of a chunk; None: there was none."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Changes that became visible together."""

    number: int
    poll: Poll
    at_ms: int
    rejected: frozenset[int] = frozenset()
    """Places in the poll of records that are no changes."""
    before: Before | None = None
    encoded: dict[Any, bytes] = field(default_factory=dict)
    """Room for readers to share what they make of it."""

    @property
    def size_bytes(self) -> int:
        lengths = sum(len(each) for each in self.poll.values if each is not None)
        return lengths + _RECORD_BYTES * (len(self.poll) + 1)


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment of a tail: the next chunk to come, and the positions before it."""

    epoch: int
    number: int
    positions: Positions


class Tail:
    """One writer, any number of readers, from any thread."""

    def __init__(self, positions: Positions, kept_bytes: int = KEPT_BYTES) -> None:
        self._kept_bytes = kept_bytes
        self._lock = threading.Lock()
        self._chunks: deque[tuple[Chunk, int]] = deque()
        self._size = 0
        self._now = Mark(0, 0, dict(positions))
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
        at_ms: int,
        rejected: frozenset[int] = frozenset(),
        before: Before | None = None,
    ) -> None:
        """Add what has just been committed."""
        with self._lock:
            now = self._now
            if len(poll):
                chunk = Chunk(now.number, poll, at_ms, rejected, before)
                self._keep(chunk, chunk.size_bytes)
            number = now.number + bool(len(poll))
            self._now = Mark(now.epoch, number, {**now.positions, **poll.next})
        self._tell()

    def reset(self, positions: Positions) -> None:
        """Begin anew: what was seen so far does not lead to what comes next."""
        with self._lock:
            self._chunks.clear()
            self._size = 0
            self._now = Mark(self._now.epoch + 1, 0, dict(positions))
        self._tell()

    def since(self, mark: Mark) -> list[Chunk] | None:
        """The chunks from this mark on; None if some of them are not here any more."""
        with self._lock:
            if mark.epoch != self._now.epoch:
                return None
            missing = self._now.number - mark.number
            if missing > len(self._chunks):
                return None
            return [chunk for chunk, _ in list(self._chunks)[len(self._chunks) - missing :]]

    def find(self, positions: Positions) -> Mark | None:
        """The latest mark from which nothing behind these positions is missing, if there is one."""
        with self._lock:
            starts = (
                Mark(self._now.epoch, chunk.number, chunk.poll.start) for chunk, _ in self._chunks
            )
            found = [each for each in (*starts, self._now) if _is_before(each.positions, positions)]
        return found[-1] if found else None

    def _keep(self, chunk: Chunk, size: int) -> None:
        self._chunks.append((chunk, size))
        self._size += size
        while self._size > self._kept_bytes and len(self._chunks) > 1:
            self._size -= self._chunks.popleft()[1]

    def _tell(self) -> None:
        for each in self._listeners:
            each()


def _is_before(first: Positions, second: Positions) -> bool:
    return all(at <= second.get(partition, 0) for partition, at in first.items())
