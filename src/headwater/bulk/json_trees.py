"""Nested columns of values whose shapes are known: what is in them is known, but for the scalars."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from headwater.bulk.json_scalars import Leaf, Scalars
from headwater.bulk.varints import Numbers


class Columns:
    """Makes the columns of a schema; its parts are numbered as the slots of a shape are."""

    def __init__(self, kind: pa.StructType) -> None:
        self._kind = kind
        self._leaves: list[Leaf] = []
        self._walk(kind, 0)

    def of(self, scalars: Scalars) -> pa.StructArray:
        """Raises `Faulty`, or `pa.ArrowInvalid` if something does not fit, and it is not known what."""
        scalars.check()
        arrays = scalars.arrays(self._leaves)
        made = {leaf.slot: array for leaf, array in zip(self._leaves, arrays, strict=True)}
        return _Assembly(scalars, made).column(self._kind)

    def _walk(self, kind: pa.DataType, slot: int) -> int:
        """Number the parts of a type from `slot` on; return the number after them."""
        if pa.types.is_struct(kind):
            slot += 1
            for each in kind:
                slot = self._walk(each.type, slot)
            return slot
        if pa.types.is_list(kind):
            return self._walk(kind.value_type, slot + 1)
        if not pa.types.is_nested(kind):
            self._leaves.append(Leaf(kind, slot))
        return slot + 1


class _Assembly:
    """Puts arrays of scalars together, part by part."""

    def __init__(self, scalars: Scalars, arrays: dict[int, pa.Array]) -> None:
        self._scalars = scalars
        self._arrays = arrays
        self._slot = -1

    def column(self, kind: pa.DataType) -> pa.Array:
        self._slot += 1
        slot = self._slot
        if pa.types.is_struct(kind):
            mask = self._nulls(slot)
            made = [self.column(each.type) for each in kind]
            return pa.StructArray.from_arrays(made, fields=list(kind), mask=mask)
        if pa.types.is_list(kind):
            sizes = self._scalars.spread(self._numbers(slot))
            bounds = np.zeros(len(sizes) + 1, dtype=np.int32)
            np.cumsum(sizes, out=bounds[1:])
            values = self.column(kind.value_type)
            return pa.ListArray.from_arrays(
                pa.array(bounds), values, type=kind, mask=self._nulls(slot)
            )
        if pa.types.is_nested(kind):
            return pa.nulls(len(self._scalars.spread(self._numbers(slot))), kind)
        return self._arrays[slot]

    def _numbers(self, slot: int) -> Sequence[Numbers]:
        return [each.slots[slot].numbers for each in self._scalars.shapes]

    def _nulls(self, slot: int) -> pa.Array | None:
        is_null = [each.slots[slot].is_null for each in self._scalars.shapes]
        if not any(each.any() for each in is_null):
            return None
        return pa.array(self._scalars.spread(is_null))
