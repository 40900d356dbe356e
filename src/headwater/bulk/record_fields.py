"""Where each record of some batches lies in one region of plain bytes, and what its fields say.

    record := length attributes timestamp_delta offset_delta key value headers

Only the chain of lengths has to be followed record by record; all else is read for all records at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headwater.bulk.ranges import OffsetRange
from headwater.bulk.varints import Bytes, Numbers, read_varints
from headwater.errors import Corruption
from headwater.wire.record_batch import BatchHeader


@dataclass(frozen=True, slots=True)
class Body:
    """The records of one batch, in [start, end) of a region."""

    header: BatchHeader
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class RecordFields:
    """One entry per record in each column."""

    batch: Numbers
    """Which of the bodies the record is in."""
    offset: Numbers
    timestamp: Numbers
    key_start: Numbers
    key_size: Numbers
    value_start: Numbers
    value_size: Numbers
    headers_start: Numbers
    end: Numbers


def read_fields(region: memoryview, bodies: Sequence[Body], wanted: OffsetRange) -> RecordFields:
    """Read the fields of every record in the range.

    Raises `Corruption` for records without sense, `IndexError` if they run over the end of the region.
    """
    counts = [each.header.record_count for each in bodies]
    starts: list[int] = []
    for each in bodies:
        if _follow(region, each.start, each.header.record_count, starts) > each.end:
            raise unreadable([each])
    plain: Bytes = np.frombuffer(region, dtype=np.uint8)
    batch = np.repeat(np.arange(len(bodies)), counts)
    length, cursor = read_varints(plain, np.array(starts, dtype=np.int64))
    end = cursor + length
    time_delta, cursor = read_varints(plain, cursor + 1)
    offset_delta, cursor = read_varints(plain, cursor)
    last_delta = _of_batch(bodies, "last_offset_delta")[batch]
    base_time = _of_batch(bodies, "base_timestamp")[batch]
    offset = _of_batch(bodies, "base_offset")[batch] + offset_delta
    timestamp = base_time + time_delta
    is_overflow = ((base_time ^ timestamp) & (time_delta ^ timestamp)) < 0
    if ((length < 0) | (offset_delta < 0) | (offset_delta > last_delta) | is_overflow).any():
        raise unreadable(bodies)
    if (offset.min(initial=wanted.start) < wanted.start) or (offset.max(initial=0) >= wanted.end):
        inside = (offset >= wanted.start) & (offset < wanted.end)
        batch, offset, timestamp = batch[inside], offset[inside], timestamp[inside]
        cursor, end = cursor[inside], end[inside]
    key_size, key_start = read_varints(plain, cursor)
    value_size, value_start = read_varints(plain, key_start + np.maximum(key_size, 0))
    headers_start = value_start + np.maximum(value_size, 0)
    # A record without headers still says so, in one byte.
    if (headers_start >= end).any():
        raise unreadable(bodies)
    return RecordFields(
        batch=batch,
        offset=offset,
        timestamp=timestamp,
        key_start=key_start,
        key_size=key_size,
        value_start=value_start,
        value_size=value_size,
        headers_start=headers_start,
        end=end,
    )


def _follow(region: memoryview, position: int, count: int, starts: list[int]) -> int:
    """Note where each of `count` records starts; returns where the last one ends."""
    note = starts.append
    for _ in range(count):
        note(position)
        byte = region[position]
        if byte < 0x80:
            position += 1 + (byte >> 1)
            continue
        second = region[position + 1]
        if second < 0x80:
            position += 2 + (byte >> 1 & 0x3F | second << 6)
            continue
        size = byte >> 1 & 0x3F | (second & 0x7F) << 6
        position += 2
        shift = 13
        while second >= 0x80:
            second = region[position]
            size |= (second & 0x7F) << shift
            shift += 7
            position += 1
        position += size
    return position


def _of_batch(bodies: Sequence[Body], field: str) -> Numbers:
    return np.array([getattr(each.header, field) for each in bodies], dtype=np.int64)


def unreadable(bodies: Sequence[Body]) -> Corruption:
    """The checksum was good, so these bytes are what a producer has sent."""
    first, last = bodies[0].header.base_offset, bodies[-1].header.base_offset
    where = f"at offset {first}" if first == last else f"between offsets {first} and {last}"
    return Corruption(f"unreadable record in a batch {where}")
