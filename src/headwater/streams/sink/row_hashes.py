"""A hash of each row, key and value together: of all rows at once, and nothing for each of them in Python.

A row is laid out in words of eight bytes, w0, w1, ..., and its hash is made from w0 + w1*B + w2*B**2 + ...
(mod 2**64). The words of all rows are multiplied with the powers of B in one go, as if they were one row;
the sum of each row is then divided by the power that its first word got.
"""

from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Hashes = npt.NDArray[np.uint64]

_WORD: Final = 8
_WORD_BITS: Final = 3
_AT_ONCE: Final = 2**18
"""Words that are hashed together: 2 MiB, which a processor's cache holds."""
_BASE: Final = 0x9E3779B97F4A7C15
_INVERSE: Final = pow(_BASE, -1, 2**64)
_OF_KEY_SIZE: Final = np.uint64(0xC2B2AE3D27D4EB4F)
_OF_VALUE_SIZE: Final = np.uint64(0x165667B19E3779F9)
_MIX: Final = np.uint64(0xFF51AFD7ED558CCD)
_HALF: Final = np.uint64(32)
_PADDINGS: Final = pa.array([b"\0" * (_WORD - each) for each in range(_WORD)], pa.binary())
"""By how many bytes of the last word are used. It is never full, so that every row has a word."""


def row_hashes(keys: pa.Array, values: pa.Array) -> Hashes:
    """The same for equal rows, also of other arrays; null is not the same as empty."""
    key_sizes, value_sizes = _sizes(keys), _sizes(values)
    used = np.maximum(key_sizes, 0) + np.maximum(value_sizes, 0)
    paddings = _PADDINGS.take(pa.array(used & (_WORD - 1)))
    hashes = np.empty(len(keys), dtype=np.uint64)
    for start, end in pairwise(_cuts((used >> _WORD_BITS) + 1)):
        rows = slice(start, end)
        hashes[rows] = _sums_of_words(keys[rows], values[rows], paddings[rows])
    hashes += key_sizes.astype(np.uint64) * _OF_KEY_SIZE
    hashes += value_sizes.astype(np.uint64) * _OF_VALUE_SIZE
    return _mixed(_mixed(hashes))


def _sizes(values: pa.Array) -> npt.NDArray[np.int64]:
    sizes = pc.fill_null(pc.binary_length(values), -1)
    return np.asarray(sizes.to_numpy(zero_copy_only=False), dtype=np.int64)


def _cuts(words: npt.NDArray[np.int64]) -> list[int]:
    """Where to cut rows, so that no piece is much larger than `_AT_ONCE`, unless it is one row."""
    ends = np.cumsum(words)
    pieces = np.flatnonzero(np.diff(ends // _AT_ONCE, prepend=0))
    return sorted({0, *pieces.tolist(), len(words)})


def _sums_of_words(keys: pa.Array, values: pa.Array, paddings: pa.Array) -> Hashes:
    laid_out: Any = pc.binary_join_element_wise(
        keys, values, paddings, b"", null_handling="replace", null_replacement=b""
    )
    _, offsets_buffer, data = laid_out.buffers()
    firsts = np.frombuffer(offsets_buffer, dtype=np.int32, count=len(keys) + 1) >> _WORD_BITS
    words = np.frombuffer(data, dtype=np.uint64, count=int(firsts[-1]))
    # The powers reach upwards only: without this, the last byte of a word would stay among its own bits.
    spread = words ^ (words >> _HALF)
    size = max(_AT_ONCE, 2 ** len(words).bit_length())
    spread *= _powers(_BASE, size)[: len(words)]
    sums: Hashes = np.add.reduceat(spread, firsts[:-1])
    sums *= _powers(_INVERSE, size)[firsts[:-1]]
    return sums


def _mixed(numbers: Hashes) -> Hashes:
    return (numbers ^ (numbers >> _HALF)) * _MIX


@lru_cache(maxsize=4)
def _powers(base: int, count: int) -> Hashes:
    factors = np.full(count, base, dtype=np.uint64)
    factors[0] = 1
    return np.multiply.accumulate(factors)
