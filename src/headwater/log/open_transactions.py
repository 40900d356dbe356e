"""Which transactions of a partition have not ended, as far as a reader may know.

The last stable offset is where the first of them begins. A transaction counts as open until its end marker
is synced: before, a crash could take the marker back.
"""

from collections.abc import Iterator
from typing import NamedTuple


class Ended(NamedTuple):
    """A transaction whose end marker is written, but perhaps not synced."""

    first_offset: int
    marker_offset: int


class OpenTransactions:
    """Open transactions by producer id; at most one of each producer."""

    def __init__(self) -> None:
        # In the order of first offsets: a transaction begins with the record that was just appended.
        self._first_offsets: dict[int, int] = {}
        self._ended: list[Ended] = []

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """Yield (producer id, first offset) of each open transaction, the oldest first."""
        return iter(self._first_offsets.items())

    def __len__(self) -> int:
        return len(self._first_offsets)

    def __contains__(self, producer_id: int) -> bool:
        return producer_id in self._first_offsets

    def first_offset_of(self, producer_id: int) -> int | None:
        return self._first_offsets.get(producer_id)

    def begin(self, producer_id: int, first_offset: int) -> None:
        """Note a transactional record; only the first of a transaction counts."""
        self._first_offsets.setdefault(producer_id, first_offset)

    def end(self, producer_id: int, marker_offset: int) -> None:
        first_offset = self._first_offsets.pop(producer_id, None)
        if first_offset is not None:
            self._ended.append(Ended(first_offset, marker_offset))

    def settle(self, high_watermark: int) -> None:
        """Markers below the high watermark are there for good."""
        if self._ended:
            self._ended = [each for each in self._ended if each.marker_offset >= high_watermark]

    def first_unstable_offset(self) -> int | None:
        """Return where the first transaction begins whose end is not certain."""
        candidates = [each.first_offset for each in self._ended]
        if self._first_offsets:
            candidates.append(next(iter(self._first_offsets.values())))
        return min(candidates, default=None)

    def stable_to(self, next_offset: int, without: int | None = None) -> int:
        """Return the offset before which every transaction has its marker, synced or not."""
        for producer_id, first_offset in self._first_offsets.items():
            if producer_id != without:
                return first_offset
        return next_offset
