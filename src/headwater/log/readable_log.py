"""The reading side of a partition's log: segments in order, found by offset, none beyond what is synced.

Damage is met here, and remembered; what lies around it can be read. May be called from any thread.
"""

import logging
from bisect import bisect_right
from pathlib import Path

from headwater.errors import Corruption, OffsetOutOfRange
from headwater.log.aborted import AbortedTransaction, aborted_between
from headwater.log.batch_file import Place
from headwater.log.disk import Disk
from headwater.log.producers import Producers
from headwater.log.recovery import Damage
from headwater.log.segment import Segment
from headwater.log.state import PartitionState
from headwater.log.stretch import Records, Stretch, first_offset_of, next_offset_of

logger = logging.getLogger(__name__)


class ReadableLog:
    """What is in a log, and up to where readers may see it."""

    def __init__(self, disk: Disk, directory: Path, state: PartitionState) -> None:
        self.disk = disk
        self.directory = directory
        self.state = state
        self.segments: list[Segment] = []
        self.producers = Producers()
        self.next_offset = 0
        self.high_watermark = 0
        self.damage: list[Damage] = []

    @property
    def leader_epoch(self) -> int:
        return self.state.leader_epoch

    @property
    def log_start_offset(self) -> int:
        return self.state.log_start_offset

    @property
    def last_stable_offset(self) -> int:
        """Records before it belong to no transaction that may still end either way."""
        unstable = self.producers.transactions.first_unstable_offset()
        if unstable is None:
            return self.high_watermark
        return min(self.high_watermark, max(unstable, self.log_start_offset))

    def refuse_uncertain(self, offset: int) -> None:
        """Raise `Corruption` if damage keeps a `read_committed` reader from going on at `offset`."""
        if offset >= self.last_stable_offset:
            self.producers.transactions.refuse_uncertain(offset)

    @property
    def size_bytes(self) -> int:
        return sum(each.size for each in self.segments)

    @property
    def active(self) -> Segment:
        return self.segments[-1]

    @property
    def is_synced(self) -> bool:
        return self.next_offset == self.high_watermark

    def aborted_in(
        self, records: Records, limit: int, *, cached: bool = False
    ) -> list[AbortedTransaction]:
        """Return the aborted transactions that have records in what `read` returned up to `limit`."""
        if not records:
            return []
        start = first_offset_of(records)
        end = min(limit, next_offset_of(records, start))
        return aborted_between(self._segments_from(start), start, end, cached=cached)

    def read(
        self, offset: int, max_bytes: int, limit: int, *, cached: bool = False, strict: bool = False
    ) -> memoryview:
        """Return the first piece of what `find` finds."""
        found = self.find(offset, max_bytes, limit, cached=cached, strict=strict)
        return found.take() if isinstance(found, Stretch) else found

    def find(
        self,
        offset: int,
        max_bytes: int,
        limit: int,
        *,
        cached: bool = False,
        strict: bool = False,
        unread: bool = False,
    ) -> Records:
        """Return whole batches from the one that holds `offset`, all below `limit`.

        At least one batch, however large; with `strict`, none that is larger than `max_bytes`. They are
        read and checked, if they are more than one piece those of the first; with `unread`, not even
        those. With `cached`, raises `NotCached` rather than wait for the disk. Raises `OffsetOutOfRange`,
        and `Corruption` if the batch at `offset` is known to be damaged.
        """
        self._refuse_outside(offset)
        if offset >= limit:
            return memoryview(b"")
        for segment in self._segments_from(offset):
            if segment.base_offset >= limit:
                break
            try:
                end = _end_in(segment, limit, cached=cached)
                if unread and (places := segment.places(offset, end, max_bytes, cached=cached)):
                    return Stretch(segment, *places, self._report)
                found = segment.read_from(
                    offset, end.position, max_bytes, cached=cached, strict=strict
                )
            except Corruption as error:
                self._refuse_outside(offset)  # What is missing may have been deleted meanwhile.
                self._report(segment, offset, error)
                raise
            if found is not None:
                piece, rest = found
                last = segment.last_place(rest, rest.position + max_bytes - len(piece), end)
                if not piece or last <= rest:
                    return piece
                return Stretch(segment, rest, last, self._report, piece)
            if offset < min(limit, segment.next_offset):
                missing = Corruption(f"records are missing at the end of {segment.path.name}")
                self._report(segment, offset, missing)
                raise missing
        return memoryview(b"")

    def offset_past_damage(self, offset: int) -> int:
        """Return where reading can go on after `read` raised `Corruption` at `offset`."""
        for segment in self._segments_from(offset):
            for _, header in segment.walk_past_damage():
                if header.base_offset > offset:
                    return header.base_offset
        return self.high_watermark

    def _refuse_outside(self, offset: int) -> None:
        # In this order: who removes segments moves the log start first.
        segments = self.segments
        if not self.log_start_offset <= offset <= self.next_offset:
            raise OffsetOutOfRange(
                f"offset {offset} is outside {self.log_start_offset}..{self.next_offset}"
            )
        if offset < (segments[0].base_offset if segments else self.next_offset):
            raise Corruption(f"{self.directory.name} has lost the segment with offset {offset}")

    def _segments_from(self, offset: int) -> list[Segment]:
        segments = self.segments
        following = bisect_right(segments, offset, key=lambda each: each.base_offset)
        return segments[max(0, following - 1) :]

    def _report(self, segment: Segment, offset: int, error: Corruption) -> None:
        """Say it once; a reader that tries again and again must not flood the log."""
        if not any((each.path, each.reason) == (segment.path, error.what) for each in self.damage):
            damage = Damage(segment.path, segment.find_position(offset), offset, error.what)
            self.damage.append(damage)
            logger.error("damage found: %s", damage)


def _end_in(segment: Segment, limit: int, *, cached: bool) -> Place:
    """Where somebody who may read up to `limit` stops in a segment."""
    end = Place(segment.durable_size, min(limit, segment.next_offset))
    if limit >= segment.next_offset:
        return end
    found = segment.find(limit, end.position, cached=cached)
    return end if found is None else Place(found[0], limit)
