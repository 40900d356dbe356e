"""Which partition a record goes to, for many at once: the one it names, that of its key, or any.

A key's partition is Java's, so that it is the same whoever writes.
"""

import random
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.bulk.varints import Bytes, Numbers

_SEED: Final = np.uint32(0x9747B28C)
_FACTOR: Final = np.uint32(0x5BD1E995)
_WORD: Final = 4
_ANY: Final = -1

Hashes = npt.NDArray[np.uint32]


def partitions_of(keys: pa.Array, named: pa.Array, count: int) -> Numbers:
    """Return the partition of each record, of a topic with `count` of them."""
    chosen = _anywhere(len(keys), count)
    if keys.null_count < len(keys):
        has_key = keys.is_valid().to_numpy(zero_copy_only=False)
        by_key = (murmur2(keys) & np.uint32(0x7FFFFFFF)) % np.uint32(count)
        chosen = np.where(has_key, by_key, chosen)
    if named.null_count < len(named):
        numbers = named.fill_null(_ANY).to_numpy()
        chosen = np.where(numbers > _ANY, numbers, chosen)
    return chosen.astype(np.int64)


def murmur2(keys: pa.Array) -> Hashes:
    """Hash an array of binary as Java's client does (murmur2); nulls as if they were empty."""
    bounds = np.frombuffer(keys.buffers()[1], dtype=np.int32)
    bounds = bounds[keys.offset : keys.offset + len(keys) + 1].astype(np.int64)
    # The last word of the last key may be read over its end.
    data: Bytes = np.frombuffer(keys.buffers()[2] or b"", dtype=np.uint8)
    data = np.append(data[bounds[0] : bounds[-1]], np.zeros(_WORD, dtype=np.uint8))
    starts, sizes = bounds[:-1] - bounds[0], np.diff(bounds)
    hashes = _SEED ^ sizes.astype(np.uint32)
    words = sizes // _WORD
    for nth in range(int(words.max(initial=0))):
        rows = np.flatnonzero(words > nth)
        mixed = _words(data, starts[rows] + _WORD * nth) * _FACTOR
        mixed = (mixed ^ mixed >> np.uint32(24)) * _FACTOR
        hashes[rows] = hashes[rows] * _FACTOR ^ mixed
    left = sizes % _WORD
    rows = np.flatnonzero(left)
    rest = _words(data, starts[rows] + _WORD * words[rows])
    rest &= (np.uint32(1) << (8 * left[rows]).astype(np.uint32)) - np.uint32(1)
    hashes[rows] = (hashes[rows] ^ rest) * _FACTOR
    hashes = (hashes ^ hashes >> np.uint32(13)) * _FACTOR
    return hashes ^ hashes >> np.uint32(15)


def _words(data: Bytes, positions: Numbers) -> Hashes:
    """Numbers of four bytes, the lowest first."""
    words = data[positions].astype(np.uint32)
    for nth in range(1, _WORD):
        words |= data[positions + nth].astype(np.uint32) << np.uint32(8 * nth)
    return words


def _anywhere(records: int, count: int) -> Numbers:
    """Equal shares of neighbours, beginning with any partition."""
    first = random.randrange(count)  # noqa: S311  nothing secret about it
    return (np.arange(records) * count // max(1, records) + first) % count
