"""The records inside a batch: read for compaction, time look-up and tables, written for internal topics.

record := length attributes timestamp_delta offset_delta key value headers
lengths, deltas and counts are zigzag varints; -1 stands for null
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from headwater.errors import Corruption
from headwater.wire import compression
from headwater.wire.record_batch import (
    HEADER,
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    MAGIC,
    NO_SEQUENCE,
    NOBODY,
    BatchHeader,
    ProducerIdAndEpoch,
    read_header,
    with_fresh_crc,
)

Header = tuple[str, bytes | None]

_LARGEST_ZIGZAG = 2**64 - 1
_TIMES = range(-(2**63), 2**63)
_ONE_BYTE = tuple(bytes([each]) for each in range(0x80))


class Record(NamedTuple):
    """One record at its place in the log."""

    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[Header] = ()


class RawRecord(NamedTuple):
    """One record whose value was not looked at: where its bytes stand in the plain body."""

    offset_delta: int
    timestamp_delta: int
    key: bytes | None
    is_tombstone: bool
    start: int
    end: int


class OwnBatch(NamedTuple):
    """A batch that the broker itself has written: what a log needs of it, and not yet put together."""

    header: BatchHeader
    body: bytes

    def __bytes__(self) -> bytes:
        return HEADER.pack(*self.header) + self.body


def decode_batch(batch: memoryview | bytes) -> list[Record]:
    """Read all records of one whole batch (checked before)."""
    view = memoryview(batch)
    header = read_header(view)
    body = memoryview(plain_body(header, view))
    try:
        return _decode_records(header, body)
    except IndexError as error:
        raise Corruption(
            f"unreadable record in the batch at offset {header.base_offset}"
        ) from error


def plain_body(header: BatchHeader, batch: memoryview) -> bytes | memoryview:
    """Return the records of a batch without compression."""
    return compression.decompress(header.codec, batch[HEADER_SIZE : header.size])


def scan_records(header: BatchHeader, body: memoryview) -> list[RawRecord]:
    """Find each record's key and extent without building its value or headers."""
    found = []
    position = 0
    try:
        for _ in range(header.record_count):
            length, after = read_varint(body, position)
            end = after + length
            timestamp_delta, cursor = read_varint(body, after + 1)
            offset_delta, cursor = read_varint(body, cursor)
            size, cursor = read_varint(body, cursor)
            key = None
            if size >= 0:
                key = bytes(body[cursor : cursor + size])
                cursor += size
            value_size, cursor = read_varint(body, cursor)
            if length < 0 or max(end, cursor + max(0, value_size)) > len(body) or cursor > end:
                raise Corruption(
                    f"a record of the batch at offset {header.base_offset} is cut short"
                )
            _refuse_misplaced(header, offset_delta, header.base_timestamp + timestamp_delta)
            found.append(
                RawRecord(offset_delta, timestamp_delta, key, value_size < 0, position, end)
            )
            position = end
    except IndexError as error:
        raise Corruption(
            f"unreadable record in the batch at offset {header.base_offset}"
        ) from error
    return found


def encode_batch(
    records: Iterable[tuple[bytes | None, bytes | None]],
    timestamp_ms: int,
    *,
    attributes: int = 0,
    producer: ProducerIdAndEpoch = NOBODY,
) -> OwnBatch:
    """Write (key, value) pairs as one batch of the broker's own, uncompressed, at base offset 0."""
    bodies = [encode_record(0, delta, key, value, ()) for delta, (key, value) in enumerate(records)]
    return batch_of(bodies, timestamp_ms, attributes=attributes, producer=producer)


def batch_of(
    records: Sequence[bytes],
    timestamp_ms: int,
    *,
    attributes: int = 0,
    producer: ProducerIdAndEpoch = NOBODY,
) -> OwnBatch:
    """Put encoded records of one time into a batch, uncompressed, at base offset 0."""
    body = b"".join(records)
    header = BatchHeader(
        base_offset=0,
        length=HEADER_SIZE - LENGTH_OVERHEAD + len(body),
        leader_epoch=0,
        magic=MAGIC,
        crc=0,
        attributes=attributes,
        last_offset_delta=len(records) - 1,
        base_timestamp=timestamp_ms,
        max_timestamp=timestamp_ms,
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        base_sequence=NO_SEQUENCE,
        record_count=len(records),
    )
    return OwnBatch(with_fresh_crc(header, body), body)


def encode_record(
    timestamp_delta: int,
    offset_delta: int,
    key: bytes | None,
    value: bytes | None,
    headers: Sequence[Header],
) -> bytes:
    parts = [b"\0", varint(timestamp_delta), varint(offset_delta)]
    parts += (*_sized(key), *_sized(value), varint(len(headers)))
    for name, header_value in headers:
        parts += (*_sized(name.encode()), *_sized(header_value))
    record = b"".join(parts)
    return varint(len(record)) + record


def varint(value: int) -> bytes:
    """Zigzag, then LEB128."""
    value = (value << 1) ^ (value >> 63)
    if value < 0x80:
        return _ONE_BYTE[value]
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def read_varint(buffer: memoryview, position: int) -> tuple[int, int]:
    """Return (value, position after it)."""
    byte = buffer[position]
    position += 1
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position
    value = byte & 0x7F
    shift = 7
    while True:
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > _LARGEST_ZIGZAG:
                raise Corruption("a varint is larger than 64 bits")
            return (value >> 1) ^ -(value & 1), position
        shift += 7
        if shift > 63:
            raise Corruption("a varint runs over 10 bytes")


def _sized(data: bytes | None) -> tuple[bytes, bytes]:
    return (varint(-1), b"") if data is None else (varint(len(data)), data)


def _decode_records(header: BatchHeader, body: memoryview) -> list[Record]:
    decoded = []
    position = 0
    for _ in range(header.record_count):
        length, position = read_varint(body, position)
        end = position + length
        if length < 0 or end > len(body):
            raise Corruption(f"a record of the batch at offset {header.base_offset} is cut short")
        delta, cursor = read_varint(body, position + 1)
        timestamp = (
            header.max_timestamp if header.has_append_time else header.base_timestamp + delta
        )
        offset_delta, cursor = read_varint(body, cursor)
        _refuse_misplaced(header, offset_delta, header.base_timestamp + delta)
        key, cursor = _read_sized(body, cursor)
        value, cursor = _read_sized(body, cursor)
        count, cursor = read_varint(body, cursor)
        headers = []
        for _ in range(count):
            name, cursor = _read_sized(body, cursor)
            header_value, cursor = _read_sized(body, cursor)
            headers.append(((name or b"").decode("utf-8", "replace"), header_value))
        if cursor != end or count < 0:
            raise Corruption(f"a record of the batch at offset {header.base_offset} has no end")
        decoded.append(
            Record(header.base_offset + offset_delta, timestamp, key, value, tuple(headers))
        )
        position = end
    return decoded


def _refuse_misplaced(header: BatchHeader, offset_delta: int, timestamp: int) -> None:
    """A batch that passes its checksum may still have been written wrongly."""
    if not 0 <= offset_delta <= header.last_offset_delta or timestamp not in _TIMES:
        raise Corruption(f"a record lies outside of its batch at offset {header.base_offset}")


def _read_sized(body: memoryview, position: int) -> tuple[bytes | None, int]:
    size, position = read_varint(body, position)
    if size < 0:
        return None, position
    end = position + size
    if end > len(body):
        raise IndexError("a field runs over the end of its record")
    return bytes(body[position:end]), end
