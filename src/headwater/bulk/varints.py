"""Zigzag varints at many positions at once, and runs of bytes as Arrow."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.errors import Corruption

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]

_ONE = np.uint64(1)


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
