"""JSON values that are alike -> Arrow columns, without a parser: all but their scalars are the same bytes.

That is checked for every byte of every value (`json_shapes.py`), so a value is read here only if it is as
strictly JSON as the one whose shape it has. All others are left for a parser to read.
"""

from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from headwater.bulk.json_block import Block, Flags, block_of
from headwater.bulk.json_scalars import Faulty, Scalars
from headwater.bulk.json_shapes import Shape, shape_of
from headwater.bulk.json_trees import Columns
from headwater.bulk.varints import Numbers

_BLOCK_ROWS: Final = 8192
_BLOCK_BYTES: Final = 2 << 20
"""How much is read together, about: more does not fit into the processor's cache."""

_MANY: Final = 32
"""So many values of a block must be alike: there is some work to do per shape."""

_LEARNED_AT_ONCE: Final = 4
_MOST_SHAPES: Final = 32

_WORTH_IT: Final = 0.95
"""If less of a block is alike, it costs more than is gained to read the rest in another way, and to mix."""

_LONGEST_PAUSE: Final = 64
"""Of so many blocks one is looked at, even if it is never worth it."""

_KEPT_BYTES: Final = 32 << 20


class Read(NamedTuple):
    """Values that were read: which they are, and their columns."""

    positions: Numbers
    columns: pa.StructArray


class _Matching(NamedTuple):
    """Rows of a block that have a shape."""

    shape: Shape
    rows: Numbers


class Alike:
    """Reads values for the columns of one schema, by the shapes that it has seen."""

    def __init__(self, kind: pa.StructType, many: int = _MANY) -> None:
        """`many`: how many values of a block must be alike."""
        self._kind = kind
        self._many = many
        self._columns = Columns(kind)
        self._shapes: list[Shape] = []
        self._pause, self._left = 0, 0
        _keep_freed_memory()

    def read(self, values: pa.Array, may_be_read: Flags) -> list[Read]:
        """Read what is alike of an array of binary; whatever cannot be read so is left out."""
        found: list[Read] = []
        if len(values) < self._many:
            return found
        count = _rows_of_block(values)
        for start in range(0, len(values), count):
            if self._left:
                self._left -= 1
                continue
            stretch = slice(start, start + count)
            read = self._read_block(values[stretch], may_be_read[stretch])
            if read is not None:
                found.append(Read(read.positions + start, read.columns))
        return found

    def _read_block(self, values: pa.Array, may_be_read: Flags) -> Read | None:
        block = block_of(values)
        if block is None:
            return None
        left = may_be_read & block.are_plain
        found = [self._find(shape, block, left) for shape in self._shapes]
        found += self._learn(block, left)
        read = self._read(block, [each for each in found if each is not None])
        self._rest_if_futile(len(values), 0 if read is None else len(read.positions))
        return read

    def _find(self, shape: Shape, block: Block, left: Flags) -> _Matching | None:
        """Find the rows of a shape among those that are left."""
        rows = np.flatnonzero(left & (block.quote_counts == shape.quotes))
        if len(rows) >= self._many:
            rows = rows[_have_shape(shape, block, rows)]
        if len(rows) < self._many:
            return None
        left[rows] = False
        return _Matching(shape, rows)

    def _learn(self, block: Block, left: Flags) -> list[_Matching]:
        found = []
        counts = np.bincount(block.quote_counts[left])
        for quotes in np.argsort(-counts)[:_LEARNED_AT_ONCE].tolist():
            rows = np.flatnonzero(left & (block.quote_counts == quotes))
            if len(rows) < self._many:
                break
            shape = shape_of(block.value(int(rows[0])), self._kind)
            if shape is not None and (each := self._find(shape, block, left)) is not None:
                self._shapes = [*self._shapes[1 - _MOST_SHAPES :], shape]
                found.append(each)
        return found

    def _read(self, block: Block, found: list[_Matching]) -> Read | None:
        if not found:
            return None
        rows, scalars = _scalars(block, found)
        while len(rows):
            try:
                return Read(rows, self._columns.of(scalars))
            except Faulty as faulty:
                rows, scalars = rows[~faulty.rows], scalars.where(~faulty.rows)
            except pa.ArrowInvalid:
                break
        return None

    def _rest_if_futile(self, count: int, read: int) -> None:
        is_worth_it = read >= count * _WORTH_IT
        self._pause = 0 if is_worth_it else min(max(1, 2 * self._pause), _LONGEST_PAUSE)
        self._left = self._pause


def _keep_freed_memory() -> None:
    """Have the C library keep what is freed after a block for the next one, not give it back each time.

    It keeps twice as much as the largest piece that was ever freed; this one is never touched.
    """
    np.empty(_KEPT_BYTES // 2, dtype=np.uint8)


def _rows_of_block(values: pa.Array) -> int:
    """Blocks are of one size: a small one at the end would hold little that is alike."""
    blocks: int = max(1, round(values.nbytes / _BLOCK_BYTES), len(values) // _BLOCK_ROWS)
    return -(-len(values) // blocks)


def _have_shape(shape: Shape, block: Block, rows: Numbers) -> Flags:
    """Whether rows with as many quotes have the shape, if their scalars are scalars."""
    differences = block.words(block.places(rows, shape.words))
    differences ^= shape.expected
    differences &= shape.masks
    has_shape: Flags = np.ones(len(rows), dtype=np.bool_)
    if differences.any():
        has_shape[differences.any(axis=1)] = False
    if shape.size_after_last_quote is not None:
        end = block.first_mark[rows] + shape.quotes + 1
        size = block.marks[end] - block.marks[end - 1] - 1
        has_shape &= size == shape.size_after_last_quote
    return has_shape


def _scalars(block: Block, found: list[_Matching]) -> tuple[Numbers, Scalars]:
    """Return the rows of all the shapes, in order, and their scalars."""
    shapes = [each.shape for each in found]
    rows = np.concatenate([each.rows for each in found])
    order = np.argsort(rows)
    of_shape = np.repeat(np.arange(len(shapes)), [len(each.rows) for each in found])
    width = max(len(each.bounds.marks) for each in shapes)
    bounds = np.concatenate(
        [_widened(block.places(each.rows, each.shape.bounds), width) for each in found]
    )
    if len(shapes) > 1:
        rows, of_shape, bounds = rows[order], of_shape[order], bounds.take(order, axis=0)
    return rows, Scalars(block.text, bounds, shapes, of_shape)


def _widened(bounds: Numbers, width: int) -> Numbers:
    """Add scalars of no size at the end of each row."""
    missing = width - bounds.shape[1]
    return np.pad(bounds, ((0, 0), (0, missing)), mode="edge") if missing else bounds
