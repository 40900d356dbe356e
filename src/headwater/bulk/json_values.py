"""JSON values -> typed Arrow columns, many at a time, by the rules of `json_rules.py`.

Values are joined by newlines and parsed by Arrow as one text. That is sound for values that begin with `{`,
end with `}` and have no newline of their own: where one such value meets the next (`}`, newline, `{`), a
parser is between two objects or finds an error, for in JSON no `{` follows a `}`, and no newline stands in
a string. So as many objects as values means: one object each. All other values, and those in which Arrow
finds fault, are read one by one.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from headwater.bulk.json_lines import are_lines
from headwater.bulk.json_rules import converter, read_object
from headwater.bulk.varints import Numbers
from headwater.errors import UnreadableValue

_STRETCHES: Final = (16_384, 16_384, 256)
"""How many values are parsed together: at first, without the known faults, and at last."""

_FEW: Final = 4
_FAR_APART: Final = 250
"""Faults that are few, or so many values apart, are looked for one after the other."""

_ROW: Final = re.compile(r" in row (\d+)")


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
        self._text_type = _as_arrow_parses(self._type)
        self._options = pj.ParseOptions(
            explicit_schema=None if self._text_type is None else pa.schema(list(self._text_type)),
            unexpected_field_behavior="ignore",
        )

    def parse(self, values: pa.Array) -> Parsed:
        """Parse an array of binary."""
        refused: list[Refused] = []
        are_joinable = are_lines(values)
        if self._text_type is None:
            are_joinable[:] = False
        pieces = list(self._in_bulk(values, np.flatnonzero(are_joinable), refused))
        pieces += self._singly(values, np.flatnonzero(~are_joinable), refused)
        return self._assembled(pieces, sorted(refused))

    def _in_bulk(
        self,
        values: pa.Array,
        positions: Numbers,
        refused: list[Refused],
        sizes: tuple[int, ...] = _STRETCHES,
    ) -> Iterator[_Piece]:
        """Parse stretch by stretch; where Arrow finds fault, read the faulty values singly."""
        for start in range(0, len(positions), sizes[0]):
            stretch = positions[start : start + sizes[0]]
            chosen = _chosen(values, stretch)
            try:
                yield _Piece(stretch, self._parse(chosen))
            except pa.ArrowInvalid as error:
                smaller = sizes[1:]
                faults = self._faults(chosen, error) if smaller else slice(None)
                yield from self._singly(values, stretch[faults], refused)
                if smaller:
                    yield from self._in_bulk(values, np.delete(stretch, faults), refused, smaller)

    def _faults(self, values: pa.Array, error: pa.ArrowInvalid) -> list[int]:
        """Which of the values Arrow finds fault with, as far as it says so, and while they are few."""
        faults: list[int] = []
        start = 0
        while (found := _ROW.search(str(error))) and len(faults) <= _FEW + start // _FAR_APART:
            fault = start + int(found[1])
            if fault >= len(values):
                break  # rows are no longer values: one of them holds two objects
            faults.append(fault)
            start = fault + 1
            try:
                self._read(values[start:])
            except pa.ArrowInvalid as another:
                error = another
            else:
                break
        return faults

    def _parse(self, values: pa.Array) -> pa.StructArray:
        """Parse values that can be joined; raises `ArrowInvalid` if any of them is at fault."""
        table = self._read(values)
        if table.num_rows != len(values):
            raise pa.ArrowInvalid("a value holds more than one object")
        columns = [each.combine_chunks() for each in table.columns]
        parsed = pa.StructArray.from_arrays(columns, fields=list(table.schema))
        if self._text_type != self._type:
            parsed = parsed.cast(self._type)
        _refuse_misfits(parsed)
        return parsed

    def _read(self, values: pa.Array) -> pa.Table:
        text = values.cast(pa.string())  # fails for what is not UTF-8
        joined = pc.binary_join(
            pa.ListArray.from_arrays(pa.array([0, len(text)], pa.int32()), text), "\n"
        )[0].as_buffer()
        return pj.read_json(
            pa.BufferReader(joined),
            read_options=pj.ReadOptions(use_threads=False, block_size=joined.size + 1),
            parse_options=self._options,
        )

    def _singly(
        self, values: pa.Array, positions: Numbers, refused: list[Refused]
    ) -> Iterator[_Piece]:
        rows, good = [], []
        for position in positions.tolist():
            value = values[position].as_py()
            try:
                rows.append(self._convert({} if value is None else read_object(value), ""))
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


def _as_arrow_parses(kind: pa.DataType) -> pa.DataType | None:
    """The type to parse first and to cast then; None if Arrow's parser has none."""
    if pa.types.is_struct(kind):
        children = [_as_arrow_parses(each.type) for each in kind]
        if None in children:
            return None
        return pa.struct(
            [pa.field(each.name, child) for each, child in zip(kind, children, strict=True)]
        )
    if pa.types.is_map(kind) or pa.types.is_binary(kind):
        return None
    if pa.types.is_list(kind):
        child = _as_arrow_parses(kind.value_type)
        return None if child is None else pa.list_(pa.field(kind.value_field.name, child))
    if pa.types.is_float32(kind):
        return pa.float64()
    if pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None):
        return pa.string()
    return kind


def _refuse_misfits(parsed: pa.Array) -> None:
    """Raise `ArrowInvalid` for what Arrow lets pass: forbidden nulls, decimals of too many digits."""
    kind = parsed.type
    if pa.types.is_struct(kind):
        for child, values in zip(kind, parsed.flatten(), strict=True):
            if not child.nullable and values.null_count > parsed.null_count:
                raise pa.ArrowInvalid(f"{child.name} is null")
            _refuse_misfits(values)
    elif pa.types.is_list(kind):
        values = parsed.flatten()
        if not kind.value_field.nullable and values.null_count:
            raise pa.ArrowInvalid(f"an element of {kind} is null")
        _refuse_misfits(values)
    elif pa.types.is_decimal(kind):
        parsed.validate(full=True)
