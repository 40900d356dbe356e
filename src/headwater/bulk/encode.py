"""Arrow columns -> record batches, the way back of `decode.py`: no record becomes a Python object.

record := length attributes timestamp_delta offset_delta key_size key value_size value headers

The fields between key and value are made for all records at once; Arrow puts the pieces together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.bulk.varints import Numbers, varint_sizes, write_varints
from headwater.wire import compression
from headwater.wire.record_batch import (
    HEADER,
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    MAGIC,
    TRANSACTIONAL,
    BatchHeader,
    ProducerIdAndEpoch,
    with_fresh_crc,
)

BATCH_BYTES: Final = 1_000_000
"""Below what a topic takes by default (max.message.bytes)."""
_SLACK: Final = 32
"""Of a batch that cannot be compressed, a codec makes a larger one: by less than such a part."""

_LARGEST_OVERHEAD: Final = 30
_NO_HEADERS: Final = b"\0"


@dataclass(frozen=True, slots=True)
class Sender:
    """Whose batches these are, and what is done to them."""

    producer: ProducerIdAndEpoch
    codec: int = compression.NONE
    batch_bytes: int = BATCH_BYTES
    """How much goes into a batch of more than one record."""


def batch_bytes(limit: int) -> int:
    """How much may go into a batch for a topic that takes so many bytes in one."""
    return min(BATCH_BYTES, limit - HEADER_SIZE - limit // _SLACK)


@dataclass(frozen=True, slots=True)
class Encoded:
    """One batch, but for its number in the sequence of its partition."""

    header: BatchHeader
    body: memoryview | bytes

    def in_sequence(self, sequence: int) -> bytes:
        header = with_fresh_crc(self.header._replace(base_sequence=sequence), self.body)
        return b"".join((HEADER.pack(*header), self.body))


def encode(
    records: pa.RecordBatch, firsts: Sequence[int], now_ms: int, sender: Sender
) -> Iterator[tuple[int, Encoded]]:
    """Yield the records (columns key, value, headers, timestamp) as batches of a bounded size.

    A batch never goes over one of `firsts`, where the records of another partition begin; each comes with
    the place of its first record. A record without a timestamp is of `now_ms`.
    """
    sizes = _sizes(records["key"]) + _sizes(records["value"]) + _LARGEST_OVERHEAD
    headers = _headers(records["headers"])
    if isinstance(headers, pa.Array):
        sizes += _sizes(headers)
    time_ms = _times(records["timestamp"], now_ms)
    cuts = _cuts(sizes, [*firsts, records.num_rows], sender.batch_bytes)
    starts = np.repeat(cuts[:-1], np.diff(cuts))
    body, bounds = _records(records, headers, time_ms - time_ms[starts], starts)
    for first, end in pairwise(cuts.tolist()):
        plain = body[bounds[first] : bounds[end]]
        yield first, _batch(plain, time_ms[first:end], sender)


def _batch(plain: memoryview, time_ms: Numbers, sender: Sender) -> Encoded:
    body = plain if not sender.codec else compression.compress(sender.codec, bytes(plain))
    header = BatchHeader(
        base_offset=0,
        length=HEADER_SIZE - LENGTH_OVERHEAD + len(body),
        leader_epoch=-1,
        magic=MAGIC,
        crc=0,
        attributes=TRANSACTIONAL | sender.codec,
        last_offset_delta=len(time_ms) - 1,
        base_timestamp=int(time_ms[0]),
        max_timestamp=int(time_ms.max()),
        producer_id=sender.producer.id,
        producer_epoch=sender.producer.epoch,
        base_sequence=0,
        record_count=len(time_ms),
    )
    return Encoded(header, body)


def _records(
    records: pa.RecordBatch, headers: pa.Array | bytes, time_delta: Numbers, starts: Numbers
) -> tuple[memoryview, Numbers]:
    """Return all records behind each other, and where each begins and ends."""
    count = records.num_rows
    key, value = records["key"], records["value"]
    key_size, value_size = _sizes_or_null(key), _sizes_or_null(value)
    offset_delta = np.arange(count) - starts
    headers_size = len(headers) if isinstance(headers, bytes) else _sizes(headers)
    length = (
        1
        + varint_sizes(time_delta)
        + varint_sizes(offset_delta)
        + varint_sizes(key_size)
        + np.maximum(key_size, 0)
        + varint_sizes(value_size)
        + np.maximum(value_size, 0)
        + headers_size
    )
    attributes = np.zeros(count, dtype=np.int64)
    before_key = write_varints(length, attributes, time_delta, offset_delta, key_size)
    joined = pc.binary_join_element_wise(
        before_key,
        key,
        write_varints(value_size),
        value,
        pa.scalar(headers, pa.binary()) if isinstance(headers, bytes) else headers,
        pa.scalar(b"", pa.binary()),
        null_handling="replace",
        null_replacement=b"",
    )
    bounds = np.frombuffer(joined.buffers()[1], dtype=np.int32)[: count + 1]
    return memoryview(joined.buffers()[2]), bounds.astype(np.int64)


def _headers(headers: pa.Array) -> pa.Array | bytes:
    """The headers of each record as it is written; those of all, where none has any."""
    if headers.null_count == len(headers):
        return _NO_HEADERS
    headers = pc.fill_null(headers, pa.scalar([], headers.type))
    name, value = (each.cast(pa.binary()) for each in headers.flatten().flatten())
    entries = pc.binary_join_element_wise(
        write_varints(_sizes_or_null(name)),
        name,
        write_varints(_sizes_or_null(value)),
        value,
        pa.scalar(b"", pa.binary()),
        null_handling="replace",
        null_replacement=b"",
    )
    counts = pc.list_value_length(headers).to_numpy()
    bounds = pa.array(np.concatenate(([0], np.cumsum(counts))), pa.int32())
    of_record = pc.binary_join(
        pa.ListArray.from_arrays(bounds, entries), pa.scalar(b"", pa.binary())
    )
    return pc.binary_join_element_wise(
        write_varints(counts.astype(np.int64)), of_record, pa.scalar(b"", pa.binary())
    )


def _times(times: pa.Array, now_ms: int) -> Numbers:
    if times.null_count == len(times):
        return np.full(len(times), now_ms, dtype=np.int64)
    found: Numbers = times.cast(pa.int64()).fill_null(now_ms * 1000).to_numpy() // 1000
    return found


def _cuts(sizes: Numbers, bounds: Sequence[int], most: int) -> Numbers:
    """Where batches begin, and where the last one ends: at the bounds, and between if need be."""
    ends = np.cumsum(sizes)
    cuts = [0]
    for bound in bounds[1:]:
        while cuts[-1] < bound:
            before = ends[cuts[-1] - 1] if cuts[-1] else 0
            cut = int(np.searchsorted(ends, before + most, side="right"))
            cuts.append(min(bound, max(cut, cuts[-1] + 1)))
    return np.array(cuts)


def _sizes(values: pa.Array) -> Numbers:
    return np.maximum(_sizes_or_null(values), 0)


def _sizes_or_null(values: pa.Array) -> Numbers:
    """The size of each value; -1, as it is written, for null."""
    found: Numbers = pc.binary_length(values).fill_null(-1).to_numpy().astype(np.int64)
    return found
