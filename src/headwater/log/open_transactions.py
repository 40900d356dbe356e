"""Which transactions of a partition have not ended, as far as a reader may know.

The last stable offset is where the first of them begins. A transaction counts as open until its end marker
is synced: before, a crash could take the marker back. Where damage has taken a marker, nobody knows how its
transaction ended: such records are uncertain, and never served as committed.
"""

from collections.abc import Iterator
from typing import NamedTuple

from headwater.errors import Corruption
from headwater.wire.markers import EndedRecords


class Ended(NamedTuple):
    """A transaction whose end marker is written, but perhaps not synced."""

    first_offset: int
    marker_offset: int


class Uncertain(NamedTuple):
    """Records of a transaction whose end marker is lost, and the offset at which it was missed."""

    first_offset: int
    end_offset: int


class OpenTransactions:
    """Open transactions by producer id; at most one of each producer."""

    def __init__(self) -> None:
        # In the order of first offsets: a transaction begins with the record that was just appended.
        self._first_offsets: dict[int, int] = {}
        self._ended: list[Ended] = []
        self.uncertain: list[Uncertain] = []

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

    def end(self, producer_id: int, marker_offset: int, first_offset: int | None = None) -> None:
        """Note an end marker; `first_offset` is where the marker says that its transaction begins."""
        known = self._first_offsets.get(producer_id)
        if known is None:
            return
        if first_offset is not None and known < first_offset:
            self.lose(producer_id, first_offset)
            known = first_offset
        self._first_offsets.pop(producer_id, None)
        self._ended.append(Ended(known, marker_offset))

    def lose(self, producer_id: int, end_offset: int) -> None:
        """The producer's transaction must have ended before `end_offset`, and its marker is not there."""
        first_offset = self._first_offsets.pop(producer_id, None)
        if first_offset is not None:
            self.uncertain.append(Uncertain(first_offset, end_offset))

    def settle(self, high_watermark: int) -> None:
        """Markers below the high watermark are there for good."""
        if self._ended:
            self._ended = [each for each in self._ended if each.marker_offset >= high_watermark]

    def forget_before(self, log_start_offset: int) -> None:
        """Records before the log start are gone, certain or not."""
        if self.uncertain:
            self.uncertain = [each for each in self.uncertain if each.end_offset > log_start_offset]

    def first_unstable_offset(self) -> int | None:
        """Return where the first transaction begins whose end is not certain."""
        candidates = [each.first_offset for each in self._ended]
        candidates += [each.first_offset for each in self.uncertain]
        if self._first_offsets:
            candidates.append(next(iter(self._first_offsets.values())))
        return min(candidates, default=None)

    def stable_to(self, next_offset: int, without: int | None = None) -> int:
        """Return the offset before which every transaction has its marker, synced or not."""
        for producer_id, first_offset in self._first_offsets.items():
            if producer_id != without:
                return first_offset
        return next_offset

    def ended_by(self, producer_id: int, marker_offset: int) -> EndedRecords | None:
        """Return the records that a marker at this offset ends; None if there are none."""
        first_offset = self._first_offsets.get(producer_id)
        if first_offset is None:
            return None
        return EndedRecords(first_offset, self.stable_to(marker_offset + 1, without=producer_id))

    def refuse_uncertain(self, offset: int) -> None:
        """Raise `Corruption` for records of which nobody knows whether they were committed."""
        for each in self.uncertain:
            if each.first_offset <= offset < each.end_offset:
                raise Corruption(
                    f"the end of a transaction that begins at offset {each.first_offset} is lost",
                    hint="read_uncommitted readers can go on; headwater log verify shows the damage",
                )
