"""Record batches as they came from a broker or a file, and which of them a reader may see."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from headwater.bulk.ranges import OffsetRange
from headwater.wire.messages.fetch import AbortedTransaction
from headwater.wire.record_batch import BatchHeader, checked_header, iterate_headers
from headwater.wire.records import decode_batch

Placed = tuple[int, BatchHeader]

_ABORT_MARKER: Final = b"\0\0"
"""The type in a control record's key: bytes 2 and 3, after a version that may grow."""


@dataclass(frozen=True, slots=True)
class Batches:
    """Whole batches in the order of the log; a last one that was cut short is left out."""

    data: memoryview
    placed: list[Placed]
    """Where each batch begins in `data`, and its header."""
    aborted: Sequence[AbortedTransaction] = ()
    """Aborted transactions with records here, as the broker lists them for `read_committed`."""

    @classmethod
    def of(cls, data: memoryview, aborted: Sequence[AbortedTransaction] = ()) -> "Batches":
        return cls(data, list(iterate_headers(data)), aborted)

    @property
    def next_offset(self) -> int:
        return self.placed[-1][1].next_offset

    def __len__(self) -> int:
        return len(self.placed)


def visible_batches(batches: Batches, wanted: OffsetRange) -> Iterator[Placed]:
    """Yield, checked, the batches with records in the range: no markers, nothing aborted.

    Raises `Corruption` for a batch that fails its checksum.
    """
    pending = deque(sorted(batches.aborted, key=lambda each: each.first_offset))
    aborted_producers: set[int] = set()
    expected = 0
    for position, header in batches.placed:
        if header.base_offset >= wanted.end:
            return
        while pending and pending[0].first_offset <= header.last_offset:
            aborted_producers.add(pending.popleft().producer_id)
        checked_header(batches.data, position, expected)
        expected = header.next_offset
        if header.is_control:
            if _is_abort(batches.data, position, header):
                aborted_producers.discard(header.producer_id)
            continue
        if header.is_transactional and header.producer_id in aborted_producers:
            continue
        if header.last_offset >= wanted.start and header.record_count:
            yield position, header


def _is_abort(data: memoryview, position: int, header: BatchHeader) -> bool:
    (marker,) = decode_batch(data[position : position + header.size])
    return (marker.key or b"")[2:4] == _ABORT_MARKER
