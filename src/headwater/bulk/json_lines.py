"""Which JSON values may be parsed together, as lines of one text: found for all of them at once.

A value that begins with `{`, ends with `}` and has no newline of its own is a line, unless it may be nested
too deeply.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.bulk.varints import Bytes, Numbers

_CHUNK: Final = 256 << 10
"""Bytes that are looked at together: they, and what is made of them, stay in the processor's cache."""

_DEEP: Final = 800
"""A value with fewer brackets is not nested so deeply that reading it alone would give up."""

_OPEN, _CLOSE = b"{}"
_NEWLINE, _FIRST_PRINTABLE = b"\n "
_LOWER: Final = 0x20
"""The bit by which `[` and `{` differ, and the case of letters."""


def are_lines(values: pa.Array) -> npt.NDArray[np.bool_]:
    """Whether each value of an array of binary may stand in a text with others."""
    count = len(values)
    bounds = np.frombuffer(values.buffers()[1], dtype=np.int32)[
        values.offset : values.offset + count + 1
    ].astype(np.int64)
    data: Bytes = np.frombuffer(values.buffers()[2] or b"", dtype=np.uint8)
    sizes = np.diff(bounds)
    fits = sizes > 1
    if values.null_count:
        fits &= values.is_valid().to_numpy(zero_copy_only=False)
    starts = bounds[:-1][fits]
    fits[fits] = (data[starts] == _OPEN) & (data[starts + sizes[fits] - 1] == _CLOSE)
    if not fits.any():
        return fits
    used = data[bounds[0] : bounds[-1]]
    bounds = bounds - bounds[0]
    for places in _newlines(used):
        fits[np.searchsorted(bounds, places, side="right") - 1] = False
    if (sizes > 2 * _DEEP).any():
        fits &= _brackets(used, bounds) <= _DEEP
    return fits


def _newlines(data: Bytes) -> Iterator[Numbers]:
    for start, chunk in _chunks(data):
        if chunk.min() < _FIRST_PRINTABLE:
            yield start + np.flatnonzero(chunk == _NEWLINE)


def _brackets(data: Bytes, bounds: Numbers) -> Numbers:
    """How many brackets are opened in each value."""
    places = np.concatenate(
        [start + np.flatnonzero((chunk | _LOWER) == _OPEN) for start, chunk in _chunks(data)]
    )
    return np.diff(np.searchsorted(places, bounds))


def _chunks(data: Bytes) -> Iterator[tuple[int, Bytes]]:
    for start in range(0, len(data), _CHUNK):
        yield start, data[start : start + _CHUNK]
