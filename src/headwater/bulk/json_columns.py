"""JSON objects -> Arrow columns, many at a time: msgspec makes structs of them, whose fields become arrays.

msgspec is as strict as the rules (a whole number is no text and has no fraction) and reads what it skips.
All of it is native code; Python runs once per column. What msgspec or Arrow refuses here is not yet lost:
`json_rules.py` has the last word.
"""

import re
from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from operator import attrgetter
from types import GenericAlias
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headwater.bulk.json_floats import single_floats
from headwater.bulk.json_texts import decimals, times

_NOTHING: Final = msgspec.Raw(b"null")
_UNTAKEN: Final = re.compile(r'["\\\x00-\x1f]')
"""msgspec takes no names with these: they would have to be escaped."""


class Column(NamedTuple):
    """How values of one type are read."""

    decoded: Any
    """The type that msgspec makes of a value."""
    default: Any
    to_array: Callable[[Sequence[Any]], pa.Array]


def column_of(kind: pa.DataType) -> Column | None:
    """Return how a type is read in bulk; None if it is not."""
    if pa.types.is_struct(kind):
        return _struct(kind)
    if pa.types.is_list(kind):
        return _list(kind)
    if pa.types.is_map(kind):
        return _map(kind)
    for is_kind, decoded, to_array in _SCALARS:
        if is_kind(kind):
            return Column(decoded | None, None, partial(to_array, kind))
    if pa.types.is_decimal(kind):
        # As it is written: on its way through a float a number would change.
        return Column(msgspec.Raw, _NOTHING, partial(_decimals, kind))
    return None


def _struct(kind: pa.StructType) -> Column | None:
    children = [column_of(each.type) for each in kind]
    fields = [
        (f"f{at}", child.decoded, child.default)
        for at, child in enumerate(children)
        if child is not None
    ]
    if len(fields) < kind.num_fields or not fields:
        return None
    if any(_UNTAKEN.search(each.name) for each in kind):
        return None
    names = {f"f{at}": each.name for at, each in enumerate(kind)}
    made = msgspec.defstruct("Object", fields, rename=names, gc=False)
    members = [
        (attrgetter(f"f{at}"), child.to_array)
        for at, child in enumerate(children)
        if child is not None
    ]

    def to_array(rows: Sequence[Any]) -> pa.Array:
        rows, is_null = _filled(rows, made())
        # Not by rows as tuples, which would be quicker but for the garbage collector: it counts them.
        arrays = [of_values(list(map(member, rows))) for member, of_values in members]
        return pa.StructArray.from_arrays(arrays, fields=list(kind), mask=is_null)

    return Column(made | None, None, to_array)


def _list(kind: pa.ListType) -> Column | None:
    child = column_of(kind.value_type)
    if child is None:
        return None

    def to_array(lists: Sequence[Any]) -> pa.Array:
        lists, is_null = _filled(lists, [])
        values = child.to_array(list(chain.from_iterable(lists)))
        return pa.ListArray.from_arrays(_bounds(lists), values, type=kind, mask=is_null)

    return Column(GenericAlias(list, child.decoded) | None, None, to_array)


def _map(kind: pa.MapType) -> Column | None:
    child = column_of(kind.item_type)
    if child is None:
        return None

    def to_array(maps: Sequence[Any]) -> pa.Array:
        maps, is_null = _filled(maps, {})
        keys = pa.array(list(chain.from_iterable(maps)), pa.string())
        items = child.to_array(list(chain.from_iterable(map(dict.values, maps))))
        return pa.MapArray.from_arrays(_bounds(maps), keys, items, type=kind, mask=is_null)

    return Column(GenericAlias(dict, (str, child.decoded)) | None, None, to_array)


def _filled(values: Sequence[Any], empty: Any) -> tuple[Sequence[Any], pa.Array | None]:
    """Put something empty in place of nulls, so that every value has fields or a length."""
    if all(values):
        return values, None
    is_null = [each is None for each in values]
    return [empty if each is None else each for each in values], pa.array(is_null)


def _bounds(values: Sequence[Any]) -> pa.Array:
    bounds = np.zeros(len(values) + 1, dtype=np.int32)
    np.cumsum(np.fromiter(map(len, values), dtype=np.int32, count=len(values)), out=bounds[1:])
    return pa.array(bounds)


def _plain(kind: pa.DataType, values: Sequence[Any]) -> pa.Array:
    return pa.array(values, type=kind)


def _single_floats(_: pa.DataType, values: Sequence[Any]) -> pa.Array:
    return single_floats(pa.array(values, type=pa.float64()))


def _cast_texts(kind: pa.DataType, values: Sequence[Any]) -> pa.Array:
    return pa.array(values, type=pa.string()).cast(kind)


def _times(kind: pa.TimestampType, values: Sequence[Any]) -> pa.Array:
    return times(kind, pa.array(values, type=pa.string()))


def _decimals(kind: pa.Decimal128Type, values: Sequence[Any]) -> pa.Array:
    texts = pa.array(list(map(bytes, values)), type=pa.binary()).cast(pa.string())
    is_null = pc.equal(texts, "null")
    return decimals(kind, pc.if_else(is_null, None, pc.ascii_trim(texts, '"')))


_SCALARS: Final[tuple[tuple[Callable[[pa.DataType], bool], Any, Any], ...]] = (
    (pa.types.is_signed_integer, int, _plain),
    (pa.types.is_float64, float, _plain),
    (pa.types.is_float32, float, _single_floats),
    (pa.types.is_boolean, bool, _plain),
    (pa.types.is_string, str, _plain),
    (pa.types.is_timestamp, str, _times),
    (pa.types.is_date32, str, _cast_texts),
)
