"""Record batches (magic 2) written and read byte by byte, so that tests can also write wrong ones.

base_offset i64 | length i32 | leader_epoch i32 | magic i8 | crc u32 | attributes i16 |
last_offset_delta i32 | base_timestamp i64 | max_timestamp i64 | producer_id i64 |
producer_epoch i16 | base_sequence i32 | count i32 | records
length counts what follows it; crc32c covers everything from attributes on.
"""

import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

import cramjam
from crc32c import crc32c

HEAD: Final = struct.Struct(">qiibI")
BODY: Final = struct.Struct(">hiqqqhii")
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
XERIAL: Final = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)


class Codec(IntEnum):
    """The low three bits of a batch's attributes."""

    none = 0
    gzip = 1
    snappy = 2
    lz4 = 3
    zstd = 4


@dataclass(frozen=True, kw_only=True)
class Record:
    value: bytes | None = b"value"
    key: bytes | None = None
    timestamp: int = -1
    headers: tuple[tuple[str, bytes | None], ...] = ()
    offset: int = -1


@dataclass(frozen=True, kw_only=True)
class Batch:
    """What a batch says about itself; the defaults are those of a producer without idempotence."""

    records: tuple[Record, ...]
    codec: Codec = Codec.none
    attributes: int = 0
    producer_id: int = -1
    producer_epoch: int = -1
    base_sequence: int = -1
    base_offset: int = 0
    leader_epoch: int = -1
    last_offset_delta: int | None = None
    base_timestamp: int = 0
    max_timestamp: int = 0

    @property
    def last_offset(self) -> int:
        assert self.last_offset_delta is not None
        return self.base_offset + self.last_offset_delta

    @property
    def values(self) -> list[bytes | None]:
        return [record.value for record in self.records]


def batch(*records: Record | bytes, count: int | None = None, **fields: object) -> bytes:
    """The bytes of one batch. A plain value is a record of the present moment.

    `count` is the record count that the header claims, when it is to be a lie.
    """
    now = now_ms()
    items = [item if isinstance(item, Record) else Record(value=item) for item in records]
    items = [_stamped(item, now) for item in items]
    return encode(Batch(records=tuple(items), **fields), count)  # type: ignore[arg-type]


def now_ms() -> int:
    return int(time.time() * 1000)


def encode(batch: Batch, count: int | None = None) -> bytes:
    timestamps = [record.timestamp for record in batch.records]
    base = timestamps[0] if timestamps else 0
    body = b"".join(
        _encode_record(record, index, record.timestamp - base)
        for index, record in enumerate(batch.records)
    )
    last = len(batch.records) - 1 if batch.last_offset_delta is None else batch.last_offset_delta
    checked = BODY.pack(
        batch.attributes | batch.codec,
        last,
        base,
        max(timestamps, default=-1),
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        len(batch.records) if count is None else count,
    ) + COMPRESS[batch.codec](body)
    # 9: what stands between the length and the attributes.
    return (
        HEAD.pack(batch.base_offset, 9 + len(checked), batch.leader_epoch, 2, crc32c(checked))
        + checked
    )


def decode(data: bytes) -> list[Batch]:
    """Every whole batch of a fetched blob; a last batch cut short by a limit is left out."""
    batches = []
    position = 0
    while position + HEAD.size <= len(data):
        base_offset, length, leader_epoch, magic, crc = HEAD.unpack_from(data, position)
        end = position + 12 + length
        if end > len(data):
            break
        checked = data[position + HEAD.size : end]
        assert magic == 2
        assert crc32c(checked) == crc, "the batch came back damaged"
        batches.append(_decode_checked(base_offset, leader_epoch, checked))
        position = end
    return batches


def records_of(data: bytes) -> list[Record]:
    return [record for decoded in decode(data) for record in decoded.records]


def message_set(magic: int, value: bytes) -> bytes:
    """A message of the old formats (magic 0 and 1), which no broker of Kafka 4 accepts."""
    import zlib

    timestamp = struct.pack(">q", now_ms()) if magic == 1 else b""
    body = struct.pack(">bb", magic, 0) + timestamp + struct.pack(">ii", -1, len(value)) + value
    message = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", 0, len(message)) + message


def _stamped(record: Record, now: int) -> Record:
    return record if record.timestamp >= 0 else replace(record, timestamp=now)


def _decode_checked(base_offset: int, leader_epoch: int, checked: bytes) -> Batch:
    (
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
    ) = BODY.unpack_from(checked)
    codec = Codec(attributes & 7)
    reader = _Reader(DECOMPRESS[codec](checked[BODY.size :]))
    records = [reader.record(base_offset, base_timestamp) for _ in range(count)]
    if attributes & LOG_APPEND_TIME:
        records = [replace(record, timestamp=max_timestamp) for record in records]
    return Batch(
        records=tuple(records),
        codec=codec,
        attributes=attributes & ~7,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        base_offset=base_offset,
        leader_epoch=leader_epoch,
        last_offset_delta=last_offset_delta,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
    )


def _encode_record(record: Record, offset_delta: int, timestamp_delta: int) -> bytes:
    body = b"\x00" + _varint(timestamp_delta) + _varint(offset_delta)
    body += _sized(record.key) + _sized(record.value) + _varint(len(record.headers))
    for name, value in record.headers:
        body += _sized(name.encode("utf-8", "surrogateescape")) + _sized(value)
    return _varint(len(body)) + body


def _sized(data: bytes | None) -> bytes:
    return _varint(-1) if data is None else _varint(len(data)) + data


def _varint(number: int) -> bytes:
    zigzag = (number << 1) ^ (number >> 63)
    out = bytearray()
    while zigzag > 0x7F:
        out.append(zigzag & 0x7F | 0x80)
        zigzag >>= 7
    out.append(zigzag)
    return bytes(out)


class _Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def record(self, base_offset: int, base_timestamp: int) -> Record:
        self.varint()
        self.position += 1
        timestamp = base_timestamp + self.varint()
        offset = base_offset + self.varint()
        key, value = self.sized(), self.sized()
        headers = tuple(
            ((self.sized() or b"").decode("utf-8", "surrogateescape"), self.sized())
            for _ in range(self.varint())
        )
        return Record(key=key, value=value, timestamp=timestamp, headers=headers, offset=offset)

    def sized(self) -> bytes | None:
        size = self.varint()
        if size < 0:
            return None
        self.position += size
        return self.data[self.position - size : self.position]

    def varint(self) -> int:
        zigzag = shift = 0
        while True:
            byte = self.data[self.position]
            self.position += 1
            zigzag |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return (zigzag >> 1) ^ -(zigzag & 1)


def _snappy(data: bytes) -> bytes:
    block = bytes(cramjam.snappy.compress_raw(data))
    return XERIAL + struct.pack(">i", len(block)) + block


def _unsnappy(data: bytes) -> bytes:
    if not data.startswith(XERIAL[:8]):
        return bytes(cramjam.snappy.decompress_raw(data))
    out, position = b"", len(XERIAL)
    while position < len(data):
        (size,) = struct.unpack_from(">i", data, position)
        out += bytes(cramjam.snappy.decompress_raw(data[position + 4 : position + 4 + size]))
        position += 4 + size
    return out


def _lz4(data: bytes) -> bytes:
    # Kafka's Java code reads independent blocks only; cramjam links them unless told not to.
    compressor = cramjam.lz4.Compressor(block_linked=False)
    compressor.compress(data)
    return bytes(compressor.finish())


COMPRESS: Final[dict[Codec, Callable[[bytes], bytes]]] = {
    Codec.none: bytes,
    Codec.gzip: lambda data: bytes(cramjam.gzip.compress(data)),
    Codec.snappy: _snappy,
    Codec.lz4: _lz4,
    Codec.zstd: lambda data: bytes(cramjam.zstd.compress(data)),
}
DECOMPRESS: Final[dict[Codec, Callable[[bytes], bytes]]] = {
    Codec.none: bytes,
    Codec.gzip: lambda data: bytes(cramjam.gzip.decompress(data)),
    Codec.snappy: _unsnappy,
    Codec.lz4: lambda data: bytes(cramjam.lz4.decompress(data)),
    Codec.zstd: lambda data: bytes(cramjam.zstd.decompress(data)),
}
