"""JSON values side by side in memory, and where in them the quotes are."""

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from headwater.bulk.varints import Bytes, Numbers

Flags = npt.NDArray[np.bool_]
Words = npt.NDArray[np.uint64]

WORD: Final = 16
"""How many bytes are looked at in one go."""
REACH: Final = 4096
"""How far from a value one may look."""

_LARGEST: Final = 64 << 20
_PADDING: Final = bytes(REACH + WORD)
_QUOTE, _BACKSLASH, _FIRST_PRINTABLE = b'"\\ '


@dataclass(frozen=True, slots=True)
class Places:
    """Places in each of many values: shifts from some of its marks."""

    marks: Numbers
    """0 for the start of a value, then its quotes, then its end."""
    shifts: Numbers


@dataclass(frozen=True, slots=True)
class Block:
    """Values in UTF-8, none of which begins with a quote."""

    text: bytes
    """The values, with room on both sides for looking beyond them."""
    marks: Numbers
    """Where values start, where there are quotes, where the last value ends."""
    first_mark: Numbers
    """Of each value, as a place among `marks`."""
    quote_counts: Numbers
    are_plain: Flags
    """Whether a value has neither backslashes nor control characters."""

    def value(self, row: int) -> bytes:
        first = self.first_mark[row]
        return self.text[self.marks[first] : self.marks[first + self.quote_counts[row] + 1]]

    def places(self, rows: Numbers, wanted: Places) -> Numbers:
        """Return places in some of the values, row by row."""
        places = self.marks.take(self.first_mark[rows][:, None] + wanted.marks)
        places += wanted.shifts
        return places

    def words(self, places: Numbers) -> Words:
        """Return the bytes at places, row by row."""
        # As one thing of sixteen bytes, for numpy takes as long for eight.
        everywhere = np.ndarray(len(self.text) - WORD, f"V{WORD}", self.text, strides=(1,))
        return everywhere[places].view("<u8")


def block_of(values: pa.Array) -> Block | None:
    """Return an array of binary as a block; None if it is large, or not UTF-8."""
    if values.nbytes > _LARGEST:
        return None
    try:
        values.cast(pa.string())
    except pa.ArrowInvalid:
        return None
    bounds = np.frombuffer(values.buffers()[1], dtype=np.int32)[
        values.offset : values.offset + len(values) + 1
    ].astype(np.int64)
    used = memoryview(values.buffers()[2] or b"")[bounds[0] : bounds[-1]]
    text = b"".join((_PADDING, used, _PADDING))
    bounds += len(_PADDING) - bounds[0]
    is_mark = np.frombuffer(text, dtype=np.uint8) == _QUOTE
    is_mark[bounds] = True
    marks = np.flatnonzero(is_mark)
    of_bounds = np.searchsorted(marks, bounds)
    return Block(
        text=text,
        marks=marks,
        first_mark=of_bounds[:-1],
        quote_counts=np.diff(of_bounds) - 1,
        are_plain=_are_plain(text, bounds),
    )


def _are_plain(text: bytes, bounds: Numbers) -> Flags:
    are_plain = np.ones(len(bounds) - 1, dtype=np.bool_)
    data: Bytes = np.frombuffer(text, dtype=np.uint8)[bounds[0] : bounds[-1]]
    if len(data) and (b"\\" in text or data.min() < _FIRST_PRINTABLE):
        places = np.flatnonzero((data == _BACKSLASH) | (data < _FIRST_PRINTABLE)) + bounds[0]
        are_plain[np.searchsorted(bounds, places, side="right") - 1] = False
    return are_plain
