"""Stretches of a log made for a test, and what the decoder of single records reads in them."""

from dataclasses import dataclass, field, replace

import pyarrow as pa
from hypothesis import strategies as st

from headwater.bulk.ranges import OffsetRange
from headwater.wire.compression import NAMES, compress
from headwater.wire.messages.fetch import AbortedTransaction
from headwater.wire.record_batch import (
    CONTROL,
    HEADER,
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    BatchHeader,
    read_header,
    with_fresh_crc,
)
from headwater.wire.records import Header, decode_batch, encode_record

TOPIC = "orders"
PARTITION = 3


@dataclass(frozen=True)
class Written:
    """One record as its producer wrote it."""

    gap: int
    """How many offsets compaction has taken out before it."""
    time_delta: int
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]


@dataclass(frozen=True)
class WrittenBatch:
    records: list[Written]
    codec: int = 0
    base_timestamp: int = 0
    max_timestamp: int = 0
    attributes: int = 0
    producer_id: int = -1
    trailing_gap: int = 0


@dataclass
class Log:
    """Batches one after the other, from `next_offset` on."""

    next_offset: int = 0
    data: bytearray = field(default_factory=bytearray)

    def append(self, batch: WrittenBatch) -> BatchHeader:
        body = bytearray()
        delta = -1
        for each in batch.records:
            delta += 1 + each.gap
            body += encode_record(each.time_delta, delta, each.key, each.value, each.headers)
        packed = compress(batch.codec, bytes(body))
        header = BatchHeader(
            base_offset=self.next_offset,
            length=HEADER_SIZE - LENGTH_OVERHEAD + len(packed),
            leader_epoch=0,
            magic=2,
            crc=0,
            attributes=batch.attributes | batch.codec,
            last_offset_delta=max(0, delta) + batch.trailing_gap,
            base_timestamp=batch.base_timestamp,
            max_timestamp=batch.max_timestamp,
            producer_id=batch.producer_id,
            producer_epoch=-1,
            base_sequence=-1,
            record_count=len(batch.records),
        )
        header = with_fresh_crc(header, packed)
        self.data += HEADER.pack(*header) + packed
        self.next_offset = header.next_offset
        return header

    def append_marker(self, producer_id: int, *, is_commit: bool) -> None:
        key = b"\0\0" + (b"\0\1" if is_commit else b"\0\0")
        record = Written(0, 0, key, b"\0\0\0\0\0\0", ())
        self.append(
            WrittenBatch([record], attributes=CONTROL | TRANSACTIONAL, producer_id=producer_id)
        )


BYTES = st.none() | st.binary(max_size=60) | st.binary(min_size=60, max_size=300)
HEADERS = st.lists(st.tuples(st.text(max_size=8), BYTES), max_size=3).map(tuple)
TIMES = st.integers(-1, 2**50)
WRITTEN = st.builds(
    Written,
    st.sampled_from([0, 0, 0, 1, 5000]),
    st.integers(-(2**40), 2**40),
    BYTES,
    BYTES,
    st.just(()) | HEADERS,
)
BATCHES = st.builds(
    WrittenBatch,
    st.lists(WRITTEN, max_size=12),
    st.sampled_from(list(NAMES)),
    TIMES,
    TIMES,
    st.sampled_from([0, LOG_APPEND_TIME, CONTROL | TRANSACTIONAL]),
    st.just(-1),
    st.integers(0, 3),
).filter(lambda each: not each.attributes & CONTROL or len(each.records) == 1)


def log_of(batches: list[WrittenBatch], first_offset: int = 0) -> Log:
    log = Log(first_offset)
    for each in batches:
        log.append(each if not each.attributes & CONTROL else _marker(each))
    return log


def _marker(batch: WrittenBatch) -> WrittenBatch:
    record = replace(batch.records[0], key=b"\0\0\0\1", headers=())
    return replace(batch, records=[record], producer_id=7)


def expected_rows(data: bytes, wanted: OffsetRange, hidden: set[int] = frozenset()) -> list[dict]:
    """What a reader must be given, record by record; `hidden` are offsets of aborted records."""
    rows = []
    position = 0
    while position < len(data):
        header = read_header(data, position)
        batch = data[position : position + header.size]
        position += header.size
        if header.is_control:
            continue
        rows += [
            {
                "key": each.key,
                "value": each.value,
                "topic": wanted.topic,
                "partition": wanted.partition,
                "offset": each.offset,
                "timestamp": each.timestamp * 1000,
                "timestampType": int(header.has_append_time),
                "headers": [{"key": name, "value": value} for name, value in each.headers] or None,
            }
            for each in decode_batch(batch)
            if wanted.start <= each.offset < wanted.end and each.offset not in hidden
        ]
    return rows


def rows_of(decoded: list[pa.RecordBatch]) -> list[dict]:
    rows = []
    for batch in decoded:
        at = batch.schema.get_field_index("timestamp")
        plain = batch.set_column(at, "timestamp", batch.column(at).cast(pa.int64()))
        rows += plain.to_pylist()
    return rows


def aborted(producer_id: int, first_offset: int) -> AbortedTransaction:
    return AbortedTransaction(producer_id=producer_id, first_offset=first_offset)
