"""JSON values -> typed Arrow columns, many at a time, by the rules of `json_rules.py`.

Values are joined by newlines and decoded as one text. That is sound for values that begin with `{`, end
with `}` and have no newline of their own: where one such value meets the next (`}`, newline, `{`), a parser
is between two objects or finds an error, for in JSON no `{` follows a `}`, and no newline stands in a
string. So as many objects as values means: one object each. All other values, and those in which fault is
found, are read one by one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from headwater.bulk.json_alike import Alike
from headwater.bulk.json_columns import column_of
from headwater.bulk.json_lines import are_lines
from headwater.bulk.json_rules import converter, read_row
from headwater.bulk.varints import Numbers
from headwater.errors import UnreadableValue

_STRETCHES: Final = (1024, 1024, 64)
"""How many values are parsed together: at first, without the known faults, and at last.

More do not fit into the processor's cache, with all the objects that are made of them.
"""

_FEW: Final = 4
_FAR_APART: Final = 250
"""Faults that are few, or so many values apart, are looked for one after the other."""

_ROW: Final = re.compile(r" - at `\$\[(\d+)\]")
_BYTE: Final = re.compile(r" \(byte (\d+)\)$")


class _Misfit(Exception):
    """One of the values is not what the columns take."""

    def __init__(self, row: int | None = None) -> None:
        super().__init__()
        self.row = row
        """Which one, if that is known."""


class Refused(NamedTuple):
    """A value that cannot be read."""

    position: int
    reason: str


@dataclass(frozen=True, slots=True)
class Parsed:
    """The columns of the values that could be read, in order."""

    columns: pa.StructArray
    positions: Numbers
    """Which of the values they are."""
    refused: list[Refused]


class _Piece(NamedTuple):
    positions: Numbers
    columns: pa.StructArray


class JsonParser:
    """Parses values into the columns of one schema; null values become rows of nulls."""

    def __init__(self, schema: pa.Schema) -> None:
        """Raises `NotSupported` for a type that JSON cannot fill."""
        self._type = pa.struct(list(schema))
        self._convert = converter(pa.field("", self._type, nullable=False))
        self._column = column_of(self._type)
        self._decoder = msgspec.json.Decoder(self._column.decoded if self._column else Any)
        self._alike = Alike(self._type)

    def parse(self, values: pa.Array) -> Parsed:
        """Parse an array of binary."""
        refused: list[Refused] = []
        are_joinable = are_lines(values)
        if self._column is None:
            are_joinable[:] = False
        pieces = list(self._of_known_shapes(values, are_joinable))
        are_left = are_joinable.copy()
        for piece in pieces:
            are_left[piece.positions] = False
        pieces += self._in_bulk(values, np.flatnonzero(are_left), refused)
        pieces += self._singly(values, np.flatnonzero(~are_joinable), refused)
        return self._assembled(pieces, sorted(refused))

    def _of_known_shapes(
        self, values: pa.Array, are_joinable: npt.NDArray[np.bool_]
    ) -> Iterator[_Piece]:
        if not are_joinable.any():
            return
        for positions, columns in self._alike.read(values, are_joinable):
            try:
                _refuse_forbidden_nulls(columns)
            except _Misfit:
                continue
            yield _Piece(positions, columns)

    def _in_bulk(
        self,
        values: pa.Array,
        positions: Numbers,
        refused: list[Refused],
        sizes: tuple[int, ...] = _STRETCHES,
    ) -> Iterator[_Piece]:
        """Parse stretch by stretch; where fault is found, read the faulty values singly."""
        for start in range(0, len(positions), sizes[0]):
            stretch = positions[start : start + sizes[0]]
            chosen = _chosen(values, stretch)
            try:
                yield _Piece(stretch, self._parse(chosen))
            except _Misfit as misfit:
                smaller = sizes[1:]
                faults = self._faults(chosen, misfit) if smaller else slice(None)
                yield from self._singly(values, stretch[faults], refused)
                if smaller:
                    yield from self._in_bulk(values, np.delete(stretch, faults), refused, smaller)

    def _faults(self, values: pa.Array, misfit: _Misfit) -> list[int]:
        """Which of the values are at fault, as far as that is said, and while they are few."""
        faults: list[int] = []
        start = 0
        while misfit.row is not None and len(faults) <= _FEW + start // _FAR_APART:
            fault = start + misfit.row
            if fault >= len(values):
                break  # rows are no longer values: one of them holds two objects
            faults.append(fault)
            start = fault + 1
            try:
                self._decode(values[start:])
            except _Misfit as another:
                misfit = another
            else:
                break
        return faults

    def _parse(self, values: pa.Array) -> pa.StructArray:
        """Parse values that can be joined; raises `_Misfit` if any of them is at fault."""
        assert self._column is not None
        rows = self._decode(values)
        if len(rows) != len(values):
            raise _Misfit  # a value holds more than one object
        try:
            parsed = self._column.to_array(rows)
        except (pa.ArrowInvalid, OverflowError) as error:
            raise _Misfit from error
        _refuse_forbidden_nulls(parsed)
        return parsed

    def _decode(self, values: pa.Array) -> list[Any]:
        try:
            text = values.cast(pa.string())
        except pa.ArrowInvalid as error:
            raise _Misfit from error  # not UTF-8
        joined = pc.binary_join(
            pa.ListArray.from_arrays(pa.array([0, len(text)], pa.int32()), text), "\n"
        )[0].as_buffer()
        try:
            return self._decoder.decode_lines(joined)
        except msgspec.DecodeError as error:
            raise _Misfit(_row_at_fault(str(error), joined)) from error
        except RecursionError as error:
            raise _Misfit from error

    def _singly(
        self, values: pa.Array, positions: Numbers, refused: list[Refused]
    ) -> Iterator[_Piece]:
        rows, good = [], []
        for position in positions.tolist():
            value = values[position].as_py()
            try:
                rows.append(read_row(value, self._convert))
            except UnreadableValue as error:
                refused.append(Refused(position, error.what))
            else:
                good.append(position)
        if good:
            yield _Piece(np.array(good, dtype=np.int64), pa.array(rows, type=self._type))

    def _assembled(self, pieces: list[_Piece], refused: list[Refused]) -> Parsed:
        if not pieces:
            return Parsed(pa.array([], type=self._type), np.empty(0, dtype=np.int64), refused)
        if len(pieces) == 1:
            return Parsed(pieces[0].columns, pieces[0].positions, refused)
        columns = pa.concat_arrays([each.columns for each in pieces])
        positions = np.concatenate([each.positions for each in pieces])
        order = np.argsort(positions, kind="stable")
        if (order[1:] < order[:-1]).any():
            columns, positions = columns.take(pa.array(order)), positions[order]
        return Parsed(columns, positions, refused)


def _chosen(values: pa.Array, positions: Numbers) -> pa.Array:
    first, count = int(positions[0]), len(positions)
    if positions[-1] - first == count - 1:
        return values.slice(first, count)
    return values.take(pa.array(positions))


def _row_at_fault(said: str, text: pa.Buffer) -> int | None:
    if found := _ROW.search(said):
        return int(found[1])
    if found := _BYTE.search(said):
        return bytes(memoryview(text)[: int(found[1])]).count(b"\n")
    return None


def _refuse_forbidden_nulls(parsed: pa.Array) -> None:
    kind = parsed.type
    if pa.types.is_struct(kind):
        for child, values in zip(kind, parsed.flatten(), strict=True):
            if not child.nullable and values.null_count > parsed.null_count:
                raise _Misfit
            _refuse_forbidden_nulls(values)
    elif pa.types.is_list(kind):
        _refuse_nulls_of(kind.value_field, parsed.flatten())
    elif pa.types.is_map(kind):
        _refuse_nulls_of(kind.item_field, parsed.items)


def _refuse_nulls_of(field: pa.Field, values: pa.Array) -> None:
    if not field.nullable and values.null_count:
        raise _Misfit
    _refuse_forbidden_nulls(values)
