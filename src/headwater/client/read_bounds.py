"""Which part of each partition a reader still wants: pure bookkeeping, no I/O.

A partition is done when its next offset has reached its bound, which may lie behind the last record
that is delivered: transaction markers and compacted records take offsets that no reader sees.
"""

from headwater.client.offset_range import Bounds

Partition = tuple[str, int]


class ReadBounds:
    """The bounds of the partitions assigned now; the owner calls one method per event."""

    def __init__(self) -> None:
        self._bounds: dict[Partition, Bounds] = {}
        self._done: set[Partition] = set()

    @property
    def assigned(self) -> frozenset[Partition]:
        return frozenset(self._bounds)

    @property
    def is_done(self) -> bool:
        """Whether every assigned partition has reached its bound (unbounded ones never do)."""
        return len(self._done) == len(self._bounds)

    def assign(self, partition: Partition, bounds: Bounds) -> None:
        self._bounds[partition] = bounds
        self._done.discard(partition)
        self.reach(partition, bounds.start)

    def revoke(self, partition: Partition) -> None:
        self._bounds.pop(partition, None)
        self._done.discard(partition)

    def reach(self, partition: Partition, next_offset: int) -> None:
        """Everything before `next_offset` has been read."""
        bounds = self._bounds.get(partition)
        if bounds is not None and bounds.until is not None and next_offset >= bounds.until:
            self._done.add(partition)

    def wants(self, partition: Partition, offset: int) -> bool:
        """Whether this record is inside; one at or past the bound also closes the partition."""
        bounds = self._bounds.get(partition)
        if bounds is None or offset < bounds.start:
            return False
        if bounds.until is None or offset < bounds.until:
            return True
        self._done.add(partition)
        return False

    def move(self, partition: Partition, offset: int) -> None:
        """Start again at `offset`, with the same end."""
        self.assign(partition, Bounds(offset, self._bounds[partition].until))
