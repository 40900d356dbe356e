"""Batches as a producer sends them, and records as a reader sees them."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from headwater.log.partition import PartitionLog
from headwater.wire import compression
from headwater.wire.record_batch import (
    HEADER,
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    MAGIC,
    NO_PRODUCER,
    NO_SEQUENCE,
    TRANSACTIONAL,
    BatchHeader,
    iterate_headers,
    with_fresh_crc,
)
from headwater.wire.records import Record, decode_batch, encode_record

NOW_MS = 1_700_000_000_000
KeyValue = tuple[bytes | None, bytes | None]


class Sender(NamedTuple):
    """Who sends: an idempotent producer and the sequence it has reached."""

    producer_id: int = NO_PRODUCER
    epoch: int = -1
    sequence: int = NO_SEQUENCE


NOBODY = Sender()


def batch(
    records: Iterable[KeyValue],
    sender: Sender = NOBODY,
    *,
    codec: int = 0,
    time_ms: int = NOW_MS,
    is_transactional: bool = False,
) -> memoryview:
    """Encode (key, value) pairs as one batch at base offset 0."""
    bodies = [encode_record(0, delta, key, value, ()) for delta, (key, value) in enumerate(records)]
    body = compression.compress(codec, b"".join(bodies))
    header = BatchHeader(
        base_offset=0,
        length=HEADER_SIZE - LENGTH_OVERHEAD + len(body),
        leader_epoch=-1,
        magic=MAGIC,
        crc=0,
        attributes=codec | (TRANSACTIONAL if is_transactional else 0),
        last_offset_delta=len(bodies) - 1,
        base_timestamp=time_ms,
        max_timestamp=time_ms,
        producer_id=sender.producer_id,
        producer_epoch=sender.epoch,
        base_sequence=sender.sequence,
        record_count=len(bodies),
    )
    return memoryview(HEADER.pack(*with_fresh_crc(header, body)) + body)


def values(*texts: str) -> list[KeyValue]:
    return [(None, each.encode()) for each in texts]


def read_batches(
    log: PartitionLog, start: int | None = None
) -> Iterator[tuple[BatchHeader, list[Record]]]:
    """Read as a consumer does, fetch by fetch, from `start` (default: the log start) to the end."""
    offset = log.log_start_offset if start is None else start
    while offset < log.high_watermark:
        chunk = log.read(offset, 4096, log.high_watermark)
        assert chunk, f"an empty answer at offset {offset} of {log.high_watermark}"
        for position, header in iterate_headers(chunk):
            yield header, decode_batch(chunk[position : position + header.size])
            offset = header.next_offset


def read_all(log: PartitionLog, start: int | None = None) -> list[Record]:
    first = log.log_start_offset if start is None else start
    return [
        record for _, each in read_batches(log, start) for record in each if record.offset >= first
    ]
