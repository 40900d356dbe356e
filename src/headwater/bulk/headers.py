"""The headers of many records at once: first of all, second of all, and so on.

headers := count (name value)*
"""

from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from headwater.bulk.columns import HEADER, HEADERS
from headwater.bulk.varints import Bytes, Numbers, cut_out, read_varints
from headwater.errors import Corruption
from headwater.wire.records import read_varint

_FEW: Final = 8
"""For so few records a step for all costs more than one for each: one record may have many headers."""


class _Runs(NamedTuple):
    """Runs of bytes in the region."""

    start: Numbers
    size: Numbers

    @classmethod
    def empty(cls, count: int) -> "_Runs":
        return cls(np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64))


def read_headers(region: memoryview, starts: Numbers, ends: Numbers) -> pa.Array:
    """Return the headers of each record as a list, null for a record that has none."""
    plain: Bytes = np.frombuffer(region, dtype=np.uint8)
    counts, cursor = read_varints(plain, starts)
    # A header takes two bytes at the least: a count that cannot be true must not cost memory.
    if ((counts < 0) | (counts > (ends - cursor) // 2)).any():
        raise Corruption("a record claims more headers than it has room for")
    if not counts.any():
        if (cursor != ends).any():
            raise _no_end()
        return pa.nulls(len(starts), HEADERS)
    names, values, cursor = _find(region, counts, cursor)
    if (cursor != ends).any():
        raise _no_end()
    entries = pa.StructArray.from_arrays(
        [_text(cut_out(region, *names)), cut_out(region, *values)], fields=list(HEADER)
    )
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
    return pa.ListArray.from_arrays(
        pa.array(offsets), entries, type=HEADERS, mask=pa.array(counts == 0)
    )


def _find(region: memoryview, counts: Numbers, cursor: Numbers) -> tuple[_Runs, _Runs, Numbers]:
    """Return all names and all values, record by record, and where the headers of each record end."""
    plain: Bytes = np.frombuffer(region, dtype=np.uint8)
    first = np.cumsum(counts) - counts
    total = int(counts.sum())
    names, values = _Runs.empty(total), _Runs.empty(total)
    records = np.flatnonzero(counts)
    nth = 0
    while len(records) > _FEW:
        places = first[records] + nth
        size, start = read_varints(plain, cursor[records])
        # A name cannot be null; Java and librdkafka would refuse it, we read it as empty.
        names.start[places], names.size[places] = start, np.maximum(size, 0)
        size, start = read_varints(plain, start + np.maximum(size, 0))
        values.start[places], values.size[places] = start, size
        cursor[records] = start + np.maximum(size, 0)
        nth += 1
        records = records[counts[records] > nth]
    for record in records.tolist():
        places_left = range(int(first[record]) + nth, int(first[record] + counts[record]))
        cursor[record] = _find_one(region, int(cursor[record]), places_left, names, values)
    return names, values, cursor


def _find_one(region: memoryview, position: int, places: range, names: _Runs, values: _Runs) -> int:
    """Note the headers of one record from `position` on; returns where they end."""
    for place in places:
        name_size, name_start = read_varint(region, position)
        names.start[place], names.size[place] = name_start, max(0, name_size)
        value_size, value_start = read_varint(region, name_start + max(0, name_size))
        values.start[place], values.size[place] = value_start, value_size
        position = value_start + max(0, value_size)
    return position


def _text(names: pa.Array) -> pa.Array:
    """Header names as text; bytes that are not UTF-8 are replaced, as Java does."""
    try:
        return names.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array(
            [str(each, "utf-8", "replace") for each in names.to_pylist()], type=pa.string()
        )


def _no_end() -> Corruption:
    return Corruption("a record does not end where its headers end")
