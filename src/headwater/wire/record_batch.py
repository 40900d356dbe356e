"""A record batch (magic 2): the fixed header that the broker reads, checks and stamps.

    0        8      12     16    17   21    23     27      35      43      51     53       57      61
    +--------+------+------+-----+----+-----+------+-------+-------+-------+------+--------+-------+
    | base   |length|leader|magic|crc |attri|last  |base   |max    |pro-   |pro-  |base    |record |
    | offset |      |epoch |  2  |    |butes|offset|time-  |time-  |ducer  |ducer |sequence|count  |
    |        |      |      |     |    |     |delta |stamp  |stamp  |id     |epoch |        |       |
    +--------+------+------+-----+----+-----+------+-------+-------+-------+------+--------+-------+

`length` counts from byte 12 on. The CRC-32C covers byte 21 to the end, so base offset and leader epoch
are stamped without touching it. The records after the header stay opaque here (`records.py`).
"""

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from headwater.errors import Corruption
from headwater.wire.checksum import crc32c

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
HEADER_SIZE: Final = HEADER.size
LENGTH_OVERHEAD: Final = 12
"""Bytes of a batch that its length field does not count."""

MINIMUM_LENGTH: Final = HEADER_SIZE - LENGTH_OVERHEAD
CRC_START: Final = 21
MAGIC: Final = 2

CODEC_MASK: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
HAS_DELETE_HORIZON: Final = 0x40

NO_PRODUCER: Final = -1
NO_EPOCH: Final = -1
NO_SEQUENCE: Final = -1

_FRAME = struct.Struct(">qi4xb")
_CHECKED = struct.Struct(">hiqqqhii")
"""What of the header the checksum covers."""


class ProducerIdAndEpoch(NamedTuple):
    """Who writes: of producers with the same id, only the one with the newest epoch may."""

    id: int = NO_PRODUCER
    epoch: int = NO_EPOCH


NOBODY: Final = ProducerIdAndEpoch()


class BatchHeader(NamedTuple):
    """The 61 bytes, named."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        return self.length + LENGTH_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def codec(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def has_append_time(self) -> bool:
        return bool(self.attributes & LOG_APPEND_TIME)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)

    @property
    def delete_horizon_ms(self) -> int | None:
        """When tombstones and markers of a cleaned batch may go; then it is the base timestamp."""
        return self.base_timestamp if self.attributes & HAS_DELETE_HORIZON else None

    @property
    def has_producer(self) -> bool:
        return self.producer_id != NO_PRODUCER

    @property
    def producer(self) -> ProducerIdAndEpoch:
        return ProducerIdAndEpoch(self.producer_id, self.producer_epoch)

    def at(self, base_offset: int) -> "BatchHeader":
        """Return the same at another place in the log; for every batch, so quicker than `_replace`."""
        return BatchHeader(base_offset, *self[1:])


def read_header(buffer: bytes | bytearray | memoryview, position: int = 0) -> BatchHeader:
    """Name the header fields at `position`; nothing is checked."""
    return BatchHeader._make(HEADER.unpack_from(buffer, position))


def checked_header(buffer: memoryview, position: int, expected_offset: int) -> BatchHeader:
    """Read the batch at `position` and prove it whole: frame, checksum and offsets that go forward.

    Raises `Corruption` for anything else, also for a batch that `buffer` cuts short.
    """
    if len(buffer) - position < HEADER_SIZE:
        raise Corruption(f"a batch header at offset {expected_offset} is cut short")
    header = read_header(buffer, position)
    if header.magic != MAGIC or header.length < MINIMUM_LENGTH:
        raise Corruption(f"no batch header where offset {expected_offset} should be")
    end = position + header.size
    if end > len(buffer):
        raise Corruption(f"the batch at offset {expected_offset} is cut short")
    if crc32c(buffer[position + CRC_START : end]) != header.crc:
        raise Corruption(f"the batch at offset {expected_offset} fails its checksum")
    if header.base_offset < expected_offset or header.last_offset_delta < 0:
        raise Corruption(f"offset {header.base_offset} stands where {expected_offset} should be")
    return header


def is_frame(buffer: memoryview, position: int) -> bool:
    """Whether a plausible batch starts at `position` (its checksum is not looked at)."""
    if len(buffer) - position < HEADER_SIZE:
        return False
    _, length, magic = _FRAME.unpack_from(buffer, position)
    return bool(magic == MAGIC and length >= MINIMUM_LENGTH)


def batch_size(buffer: memoryview, position: int) -> int:
    """Return the size in bytes of the batch at `position`."""
    size: int = _FRAME.unpack_from(buffer, position)[1] + LENGTH_OVERHEAD
    return size


def iterate_headers(buffer: memoryview) -> Iterator[tuple[int, BatchHeader]]:
    """Yield (position, header) of each whole batch; stops before one that is cut short."""
    position = 0
    while is_frame(buffer, position) and position + batch_size(buffer, position) <= len(buffer):
        header = read_header(buffer, position)
        yield position, header
        position += header.size


def next_offset_after(buffer: memoryview, offset: int) -> int:
    """Return where a reader goes on who asked for `offset` and got these batches."""
    return max((header.next_offset for _, header in iterate_headers(buffer)), default=offset)


def stamped_head(header: BatchHeader, base_offset: int, leader_epoch: int) -> bytes:
    """Return the first 61 bytes of a batch at its place in the log, to be written before the rest."""
    return HEADER.pack(base_offset, header.length, leader_epoch, *header[3:])


def with_append_time(header: BatchHeader, body: memoryview, now_ms: int) -> BatchHeader:
    """Return the header for `message.timestamp.type=LogAppendTime`; the checksum is made anew."""
    changed = header._replace(
        attributes=header.attributes | LOG_APPEND_TIME, max_timestamp=now_ms, crc=0
    )
    return with_fresh_crc(changed, body)


def with_create_time(header: BatchHeader, body: memoryview) -> BatchHeader:
    """Return the header without a claim to the broker's time, which only the broker may make."""
    return with_fresh_crc(
        header._replace(attributes=header.attributes & ~LOG_APPEND_TIME, crc=0), body
    )


def with_fresh_crc(header: BatchHeader, body: bytes | memoryview) -> BatchHeader:
    """Return the header with the checksum of itself and the records that follow it."""
    crc = crc32c(body, crc32c(_CHECKED.pack(*header[5:])))
    return BatchHeader(*header[:4], crc, *header[5:])
