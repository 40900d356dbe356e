"""Zigzag varints, many at once, read and written; and runs of bytes as Arrow."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.errors import Corruption

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]

_ONE = np.uint64(1)
_SEVEN = np.uint64(7)
_LONGEST = 10


def read_varints(region: Bytes, positions: Numbers) -> tuple[Numbers, Numbers]:
    """Return the numbers at `positions` and the positions after them.

    Raises `IndexError` if one runs over the end of the region, `Corruption` for more than 64 bits.
    """
    byte = region[positions]
    value = (byte & 0x7F).astype(np.uint64)
    after = positions + 1
    longer = np.flatnonzero(byte & 0x80)
    shift = 7
    while len(longer):
        byte = region[after[longer]]
        if shift == 63 and (byte > 1).any():
            raise Corruption("a varint is larger than 64 bits")
        value[longer] |= (byte & 0x7F).astype(np.uint64) << np.uint64(shift)
        after[longer] += 1
        longer = longer[byte >= 0x80]
        shift += 7
    return (value >> _ONE).view(np.int64) ^ -((value & _ONE).view(np.int64)), after


def varint_sizes(numbers: Numbers) -> Numbers:
    """Return how many bytes each number takes."""
    left = _zigzag(numbers)
    sizes = np.ones(len(numbers), dtype=np.int64)
    for _ in range(_LONGEST - 1):
        left = left >> _SEVEN
        if not left.any():
            break
        sizes += left > 0
    return sizes


def write_varints(*columns: Numbers) -> pa.Array:
    """Return binary: in each element one number of every column, behind each other."""
    widths = [varint_sizes(each) for each in columns]
    room = [int(each.max(initial=1)) for each in widths]
    written = np.empty((len(columns[0]), sum(room)), dtype=np.uint8)
    is_used = np.empty(written.shape, dtype=np.bool_)
    at = 0
    for numbers, width, most in zip(columns, widths, room, strict=True):
        left = _zigzag(numbers)
        for nth in range(most):
            has_more = np.where(width > nth + 1, np.uint8(0x80), np.uint8(0))
            written[:, at] = (left & np.uint64(0x7F)).astype(np.uint8) | has_more
            is_used[:, at] = width > nth
            left = left >> _SEVEN
            at += 1
    bounds = np.concatenate(([0], np.cumsum(sum(widths)))).astype(np.int32)
    return pa.Array.from_buffers(
        pa.binary(),
        len(columns[0]),
        [None, pa.py_buffer(bounds), pa.py_buffer(written[is_used])],
    )


def _zigzag(numbers: Numbers) -> npt.NDArray[np.uint64]:
    return ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)


def cut_out(region: Any, starts: Numbers, sizes: Numbers) -> pa.Array:
    """Return the runs of bytes at `starts`, which ascend, as binary; a negative size is null.

    Seen as one array whose elements are by turns a run and the gap after it, the runs are taken out by
    Arrow's own code.
    """
    count = len(starts)
    is_null = sizes < 0
    if is_null.all():
        return pa.nulls(count, pa.binary())
    bounds = np.empty(2 * count, dtype=np.int32)
    bounds[0::2] = starts
    bounds[1::2] = starts + np.maximum(sizes, 0)
    runs_and_gaps = pa.Array.from_buffers(
        pa.binary(), 2 * count - 1, [None, pa.py_buffer(bounds), pa.py_buffer(region)]
    )
    runs = pa.array(
        np.arange(0, 2 * count, 2, dtype=np.int32), mask=is_null if is_null.any() else None
    )
    return runs_and_gaps.take(runs)
