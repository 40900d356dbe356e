"""Scalars of JSON whose places are known -> typed arrays.

Text is taken as it is: the caller has seen to it that there are no escapes. What stands without quotes is
checked to the letter.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.bulk.json_block import Flags
from headwater.bulk.json_floats import single_floats
from headwater.bulk.json_shapes import Shape, is_text
from headwater.bulk.json_spelling import are_misspelt, bytes_of
from headwater.bulk.json_texts import decimals, times
from headwater.bulk.varints import Numbers

_T = TypeVar("_T", bound=np.generic)
_FIRST_OF_NULL: Final = ord("n")
_WORDS: Final = pa.array(["true", "false", "null"])


class Faulty(Exception):
    """Some rows cannot be read here."""

    def __init__(self, rows: Flags) -> None:
        super().__init__()
        self.rows: Final = rows


class Leaf(NamedTuple):
    """What becomes one array."""

    kind: pa.DataType
    slot: int
    """Which of a shape's slots says what scalars it is made of."""


class Scalars(NamedTuple):
    """The scalars of many rows."""

    text: bytes
    bounds: Numbers
    """Where each scalar of a row starts and ends, in turns."""
    shapes: Sequence[Shape]
    of_shape: Numbers
    """Which of them each row has."""

    def where(self, kept: Flags) -> "Scalars":
        return self._replace(bounds=self.bounds[kept], of_shape=self.of_shape[kept])

    def spread(self, of_shapes: Sequence[npt.NDArray[_T]]) -> npt.NDArray[_T]:
        """Put together, row after row, what the shape of a row has: all is one array."""
        sizes = np.array([len(each) for each in of_shapes])
        found: npt.NDArray[_T]
        if (sizes == sizes[0]).all():
            found = np.stack(of_shapes)[self.of_shape]
            return found.ravel()
        counts = sizes[self.of_shape]
        ends = np.cumsum(counts)
        first = (np.cumsum(sizes) - sizes)[self.of_shape]
        places = np.arange(ends[-1]) + np.repeat(first - (ends - counts), counts)
        found = np.concatenate(of_shapes)[places]
        return found

    def check(self) -> None:
        """Raise `Faulty` if what no column asks for is not a scalar, or `pa.ArrowInvalid`."""
        are_reversed = self.bounds[:, 1::2] < self.bounds[:, ::2]
        if are_reversed.any():
            raise Faulty(np.any(are_reversed, axis=1))
        skipped = [each.skipped for each in self.shapes]
        if not any(map(len, skipped)):
            return
        (texts,) = self._taken([skipped])
        texts = pc.if_else(pc.is_in(texts, _WORDS), "0", texts)
        self._refuse(are_misspelt(texts, is_whole=False), skipped)
        texts.cast(pa.float64())

    def arrays(self, leaves: Sequence[Leaf]) -> list[pa.Array]:
        """Make an array for each leaf. Raises `Faulty`, or `pa.ArrowInvalid`."""
        numbers = [[shape.slots[each.slot].numbers for shape in self.shapes] for each in leaves]
        return [
            self._read(*each) for each in zip(leaves, numbers, self._taken(numbers), strict=True)
        ]

    def _taken(self, numbers: Sequence[Sequence[Numbers]]) -> list[pa.StringArray]:
        """For each of `numbers`: the texts of the scalars that have these numbers in the shapes."""
        offsets = self.bounds.ravel().astype(np.int32)
        texts = pa.StringArray.from_buffers(
            len(offsets) - 1, pa.py_buffer(offsets), pa.py_buffer(self.text)
        )
        places = [self._places(each) for each in numbers]
        ends = np.cumsum([len(each) for each in places]).tolist()
        taken = texts.take(pa.array(np.concatenate(places)))
        return [
            taken.slice(end - len(each), len(each)) for each, end in zip(places, ends, strict=True)
        ]

    def _places(self, numbers: Sequence[Numbers]) -> Numbers:
        rows, width = self.bounds.shape
        first_of_row = np.arange(0, rows * width, width)
        counts = np.array([len(each) for each in numbers])
        if (counts == 1).all():
            return first_of_row + 2 * np.concatenate(numbers)[self.of_shape]
        return np.repeat(first_of_row, counts[self.of_shape]) + 2 * self.spread(numbers)

    def _read(self, leaf: Leaf, numbers: Sequence[Numbers], texts: pa.StringArray) -> pa.Array:
        kind = leaf.kind
        is_null = [shape.slots[leaf.slot].is_null for shape in self.shapes]
        if any(each.any() for each in is_null):
            texts = pc.if_else(pa.array(self.spread(is_null)), None, texts)
        if pa.types.is_string(kind):
            return texts
        if pa.types.is_timestamp(kind):
            return times(kind, texts)
        if is_text(kind):
            return texts.cast(kind)
        if pa.types.is_boolean(kind):
            return self._flags(numbers, texts)
        return self._numbers(kind, numbers, texts)

    def _flags(self, numbers: Sequence[Numbers], texts: pa.StringArray) -> pa.Array:
        is_true = pc.equal(texts, "true")
        is_flag = pc.or_(is_true, pc.equal(texts, "false"))
        if pc.all(is_flag, skip_nulls=False).as_py():
            return is_true
        is_null = pc.equal(texts.fill_null("null"), "null")
        self._refuse(~pc.or_kleene(is_flag, is_null).to_numpy(zero_copy_only=False), numbers)
        return pc.if_else(is_null, None, is_true)

    def _numbers(
        self, kind: pa.DataType, numbers: Sequence[Numbers], texts: pa.StringArray
    ) -> pa.Array:
        is_null = None
        if texts.null_count or (bytes_of(texts)[1] == _FIRST_OF_NULL).any():
            is_null = pc.equal(texts.fill_null("null"), "null")
            texts = pc.if_else(is_null, "0", texts)
        self._refuse(are_misspelt(texts, is_whole=pa.types.is_integer(kind)), numbers)
        read = _from_numbers(kind, texts)
        return read if is_null is None else pc.if_else(is_null, None, read)

    def _refuse(self, are_faulty: Flags, numbers: Sequence[Numbers]) -> None:
        if are_faulty.any():
            counts = np.array([len(each) for each in numbers])[self.of_shape]
            rows = np.zeros(len(self.bounds), dtype=np.bool_)
            rows[np.repeat(np.arange(len(rows)), counts)[are_faulty]] = True
            raise Faulty(rows)


def _from_numbers(kind: pa.DataType, texts: pa.StringArray) -> pa.Array:
    if pa.types.is_decimal(kind):
        return decimals(kind, texts)
    if pa.types.is_float32(kind):
        return single_floats(texts.cast(pa.float64()))
    return texts.cast(kind)
