"""A segment's sparse index: where to start reading for an offset or a time.

One entry per `interval_bytes` of log: the first offset of a batch relative to the segment's base, its
position, and the largest timestamp before that position. It can always be rebuilt from the segment.
"""

import sys
from array import array
from bisect import bisect_left, bisect_right
from typing import Final, Self

from headwater.errors import Corruption
from headwater.log import checksummed

MAGIC: Final = b"HWIX"
INTERVAL_BYTES: Final = 4096
_ENTRY_BYTES: Final = 16
NO_TIMESTAMP: Final = -1


class Index:
    """Entries in three columns, in the order of the log."""

    def __init__(self) -> None:
        self.offsets = array("I")
        self.positions = array("I")
        self.times = array("q")
        self._indexed_to = 0

    def note(self, relative_offset: int, position: int, max_timestamp_before: int) -> None:
        """Learn of a batch that was appended at `position`."""
        if position < self._indexed_to:
            return
        self.offsets.append(relative_offset)
        self.positions.append(position)
        self.times.append(max_timestamp_before)
        self._indexed_to = position + INTERVAL_BYTES

    def entry_for_offset(self, relative_offset: int) -> tuple[int, int]:
        """Return (first offset, position) of a batch at or before the one that holds the offset."""
        at = bisect_right(self.offsets, relative_offset) - 1
        return (self.offsets[at], self.positions[at]) if at >= 0 else (0, 0)

    def entry_for_position(self, position: int) -> tuple[int, int]:
        """Return (first offset, position) of the last batch here that begins at or before `position`."""
        at = bisect_right(self.positions, position) - 1
        return (self.offsets[at], self.positions[at]) if at >= 0 else (0, 0)

    def position_for_time(self, timestamp: int) -> int:
        """Return a position before which every record is older than `timestamp`."""
        at = bisect_left(self.times, timestamp) - 1
        return self.positions[at] if at >= 0 else 0

    def truncate(self, size_bytes: int) -> None:
        """Forget batches at or after a position."""
        at = bisect_left(self.positions, size_bytes)
        del self.offsets[at:], self.positions[at:], self.times[at:]
        self._indexed_to = self.positions[-1] + INTERVAL_BYTES if self.positions else 0

    def encode(self, log_size: int, max_timestamp: int, next_offset: int) -> bytes:
        """Write the index of a segment of `log_size` bytes."""
        head = array("q", [log_size, max_timestamp, next_offset])
        columns = [_big_endian(each) for each in (head, self.offsets, self.positions, self.times)]
        return checksummed.wrap(MAGIC, b"".join(columns))

    @classmethod
    def decode(cls, data: bytes) -> tuple[Self, int, int, int]:
        """Return (index, log size, max timestamp, next offset); raises `Corruption`."""
        payload = checksummed.unwrap(MAGIC, data)
        if len(payload) < 24 or (len(payload) - 24) % _ENTRY_BYTES:
            raise Corruption("an index file has half an entry")
        count = (len(payload) - 24) // _ENTRY_BYTES
        head = _native("q", payload[:24])
        index = cls()
        index.offsets = _native("I", payload[24 : 24 + 4 * count])
        index.positions = _native("I", payload[24 + 4 * count : 24 + 8 * count])
        index.times = _native("q", payload[24 + 8 * count :])
        index._indexed_to = index.positions[-1] + INTERVAL_BYTES if count else 0
        return index, head[0], head[1], head[2]


def _big_endian(values: "array[int]") -> bytes:
    copy = array(values.typecode, values)
    if sys.byteorder == "little":
        copy.byteswap()
    return copy.tobytes()


def _native(typecode: str, data: bytes) -> "array[int]":
    values: array[int] = array(typecode)
    values.frombytes(data)
    if sys.byteorder == "little":
        values.byteswap()
    return values
