"""A segment's aborted transactions: what a `read_committed` reader must leave out.

An entry belongs to the segment that holds the abort marker, and goes with it. The index can always be
rebuilt from the segment, because markers say which records they end (`wire/markers.py`).
"""

from bisect import bisect_left
from collections.abc import Iterable
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from headwater.errors import Corruption
from headwater.log import checksummed
from headwater.wire.markers import EndMarker
from headwater.wire.record_batch import BatchHeader

if TYPE_CHECKING:
    from headwater.log.segment import Segment

MAGIC: Final = b"HWTX"
NOT_KNOWN: Final = -1
_HEAD: Final = Struct(">qq")
_ENTRY: Final = Struct(">qqqq")


class AbortedTransaction(NamedTuple):
    """One transaction that was aborted in this partition."""

    producer_id: int
    first_offset: int
    last_offset: int
    """Of the abort marker."""
    last_stable_offset: int
    """Every transaction that began before this offset has ended at or before `last_offset`."""


class AbortedIndex:
    """The aborted transactions whose marker lies in one segment, in the order of markers."""

    def __init__(self) -> None:
        self.entries: list[AbortedTransaction] = []
        self.stable_to = NOT_KNOWN
        """Once sealed: every transaction that began before this offset has ended in or before here."""

    def note(self, header: BatchHeader, marker: EndMarker) -> None:
        """Learn of an end marker."""
        if not marker.is_commit and marker.ended is not None:
            first, stable = marker.ended
            self.entries.append(
                AbortedTransaction(header.producer_id, first, header.last_offset, stable)
            )

    def encode(self, log_size: int) -> bytes:
        """Write the index of a segment of `log_size` bytes."""
        entries = b"".join(_ENTRY.pack(*each) for each in self.entries)
        return checksummed.wrap(MAGIC, _HEAD.pack(log_size, self.stable_to) + entries)

    @classmethod
    def decode(cls, data: bytes) -> tuple[Self, int]:
        """Return (index, log size); raises `Corruption`."""
        payload = checksummed.unwrap(MAGIC, data)
        if len(payload) < _HEAD.size or (len(payload) - _HEAD.size) % _ENTRY.size:
            raise Corruption("an index of aborted transactions has half an entry")
        index = cls()
        log_size, index.stable_to = _HEAD.unpack_from(payload)
        index.entries = [
            AbortedTransaction._make(each) for each in _ENTRY.iter_unpack(payload[_HEAD.size :])
        ]
        return index, log_size


def aborted_between(
    segments: "Iterable[Segment]", start: int, end: int, *, cached: bool = False
) -> list[AbortedTransaction]:
    """Return the aborted transactions with records in [start, end), by first offset.

    `segments` begins with the one that holds `start`.
    """
    found: list[AbortedTransaction] = []
    for segment in segments:
        index = segment.aborted_index(cached=cached)
        for each in index.entries[
            bisect_left(index.entries, start, key=lambda entry: entry.last_offset) :
        ]:
            if each.first_offset < end:
                found.append(each)
            if each.last_stable_offset >= end:
                return sorted(found, key=lambda entry: entry.first_offset)
        if index.stable_to >= end:
            break
    return sorted(found, key=lambda entry: entry.first_offset)
