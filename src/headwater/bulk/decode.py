"""Record batches -> Arrow columns: all codecs, transactions respected, cut to a range of offsets."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headwater.bulk import columns
from headwater.bulk.batches import Batches, Placed, visible_batches
from headwater.bulk.headers import read_headers
from headwater.bulk.ranges import OffsetRange
from headwater.bulk.record_fields import Body, RecordFields, read_fields, unreadable
from headwater.bulk.varints import Numbers, cut_out
from headwater.wire import compression
from headwater.wire.record_batch import HEADER_SIZE, BatchHeader
from headwater.wire.records import plain_body

GROUP_BYTES: Final = 32 << 20
"""How much plain data becomes one Arrow batch: a well compressed answer is decoded in several steps."""

_US_PER_MS: Final = 1000
_LARGEST_MS: Final = np.iinfo(np.int64).max // _US_PER_MS


def decode(
    batches: Batches, wanted: OffsetRange, *, with_headers: bool = False
) -> Iterator[pa.RecordBatch]:
    """Yield the records of the range that a reader may see, in the order of the log.

    Raises `Corruption` for a batch that fails its checksum or cannot be read.
    """
    for region, bodies in _regions(batches, visible_batches(batches, wanted)):
        try:
            fields = read_fields(region, bodies, wanted)
            decoded = _record_batch(region, bodies, fields, wanted, with_headers=with_headers)
        except (IndexError, OverflowError) as error:
            raise unreadable(bodies) from error
        if decoded.num_rows:
            yield decoded


def _regions(
    batches: Batches, placed: Iterator[Placed]
) -> Iterator[tuple[memoryview, Sequence[Body]]]:
    """Group bodies that lie in one region of memory; plain batches are left where they are."""
    in_place: list[Body] = []
    unpacked: list[tuple[BatchHeader, Any]] = []
    unpacked_bytes = 0
    for position, header in placed:
        if header.codec == compression.NONE and not unpacked:
            in_place.append(Body(header, position + HEADER_SIZE, position + header.size))
            continue
        if in_place:
            yield batches.data, in_place
            in_place = []
        body = plain_body(header, batches.data[position : position + header.size])
        unpacked.append((header, body))
        unpacked_bytes += len(body)
        if unpacked_bytes >= GROUP_BYTES:
            yield _joined(unpacked)
            unpacked, unpacked_bytes = [], 0
    if in_place:
        yield batches.data, in_place
    if unpacked:
        yield _joined(unpacked)


def _joined(unpacked: list[tuple[BatchHeader, Any]]) -> tuple[memoryview, list[Body]]:
    ends = np.cumsum([len(body) for _, body in unpacked]).tolist()
    bodies = [
        Body(header, end - len(body), end)
        for (header, body), end in zip(unpacked, ends, strict=True)
    ]
    return memoryview(b"".join(body for _, body in unpacked)), bodies


def _record_batch(
    region: memoryview,
    bodies: Sequence[Body],
    fields: RecordFields,
    wanted: OffsetRange,
    *,
    with_headers: bool,
) -> pa.RecordBatch:
    count = len(fields.offset)
    timestamp, kind = _timestamps(bodies, fields)
    arrays = [
        cut_out(region, fields.key_start, fields.key_size),
        cut_out(region, fields.value_start, fields.value_size),
        pa.repeat(pa.scalar(wanted.topic), count),
        pa.array(np.full(count, wanted.partition, dtype=np.int32)),
        pa.array(fields.offset),
        timestamp,
        kind,
    ]
    if with_headers:
        arrays.append(read_headers(region, fields.headers_start, fields.end))
    schema = columns.WITH_HEADERS if with_headers else columns.WITHOUT_HEADERS
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _timestamps(bodies: Sequence[Body], fields: RecordFields) -> tuple[pa.Array, pa.Array]:
    """Return the times in microseconds, and whose clock they are of (`timestampType`)."""
    time_ms = fields.timestamp
    is_append: Numbers = np.array([each.header.has_append_time for each in bodies])[fields.batch]
    if is_append.any():
        append_ms = np.array([each.header.max_timestamp for each in bodies], dtype=np.int64)
        time_ms = np.where(is_append, append_ms[fields.batch], time_ms)
    # Times that no calendar of microseconds holds are as far away as it goes.
    time_us = np.clip(time_ms, -_LARGEST_MS, _LARGEST_MS) * _US_PER_MS
    kind = np.where(is_append, columns.LOG_APPEND_TIME, columns.CREATE_TIME).astype(np.int32)
    return pa.array(time_us).cast(columns.TIMESTAMP), pa.array(kind)
