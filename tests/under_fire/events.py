"""Events that follow from a seed: duplicates, stragglers and broken values among them.

What is in an event follows from its number alone, so a duplicate is made without remembering the first.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

ACCOUNTS: Final = 20_000
PRODUCTS: Final = 50
REGIONS: Final = ("north", "east", "south", "west")
SLICE: Final = 100_000
BEGIN_MS: Final = 1_788_256_800_000  # 2026-09-01T10:00:00Z; there is an event every millisecond
JITTER_MS: Final = 5_000
REPEATED_WITHIN: Final = 150_000
"""A duplicate comes at most so many events after the first, which is well within the watermark."""

BROKEN_VALUES: Final = (b'{"id":', b'{"id":1,"at":"soon"}', b'{"id":1,"amount":"much"}', b"[1]")

Numbers = np.ndarray[tuple[int], np.dtype[np.uint64]]


@dataclass(frozen=True, slots=True)
class Slice:
    """Some events in the order in which they are sent."""

    rows: pa.Table
    """The events that can be read; a duplicate is there as often as it is sent."""
    keys: pa.Array
    values: pa.Array
    """All that is sent: JSON, and values that are broken."""
    broken: int


def slices(seed: int, count: int) -> Iterator[Slice]:
    for start in range(0, count, SLICE):
        yield make_slice(seed, start, min(start + SLICE, count))


def make_slice(seed: int, start: int, stop: int) -> Slice:
    places = np.arange(start, stop, dtype=np.uint64)
    rows = _rows(seed, _numbers(seed, places))
    is_broken = pa.array(_mixed(seed + 2, places) % np.uint64(20_000) == 0)
    which = pa.array((places % np.uint64(len(BROKEN_VALUES))).astype(np.int64))
    broken = pa.array(BROKEN_VALUES).take(which)
    return Slice(
        rows=rows.filter(pc.invert(is_broken)),
        keys=rows["account"].cast(pa.string()).cast(pa.binary()).combine_chunks(),
        values=pc.if_else(is_broken, broken, _json(rows)),
        broken=pc.sum(is_broken).as_py() or 0,
    )


def accounts(seed: int) -> list[tuple[int, str | None]]:
    """The changelog of accounts: each is told twice, the second time right; every 13th is deleted."""
    numbers = np.arange(ACCOUNTS, dtype=np.uint64)
    first, second = (_mixed(seed + each, numbers) % np.uint64(4) for each in (3, 4))
    told = [(int(each), REGIONS[first[each]]) for each in range(ACCOUNTS)]
    return told + [
        (int(each), None if each % 13 == 0 else REGIONS[second[each]]) for each in range(ACCOUNTS)
    ]


def _numbers(seed: int, places: Numbers) -> Numbers:
    """The number of the event at each place: its own, or in one of 25 cases an earlier one again."""
    mixed = _mixed(seed + 1, places)
    back = (mixed >> np.uint64(8)) % np.uint64(REPEATED_WITHIN)
    is_repeated = (mixed % np.uint64(25) == 0) & (back <= places)
    return np.where(is_repeated, places - back, places)


def _rows(seed: int, numbers: Numbers) -> pa.Table:
    mixed = _mixed(seed, numbers)
    late_ms = (mixed >> np.uint64(3)) % np.uint64(JITTER_MS)
    at_ms = (numbers + np.uint64(BEGIN_MS) - late_ms).astype(np.int64)
    is_buy = pa.array((mixed >> np.uint64(17)) % np.uint64(5) == 0)
    columns = {
        "id": numbers.astype(np.int64),
        "at": pa.array(at_ms, pa.timestamp("ms")),
        "account": (mixed >> np.uint64(23)).astype(np.int64) % ACCOUNTS,
        "product": (mixed >> np.uint64(41)).astype(np.int64) % PRODUCTS,
        "kind": pc.if_else(is_buy, "buy", "look"),
        "amount": (mixed >> np.uint64(45)).astype(np.int64) % 100_000,
    }
    return pa.table(columns)


def _json(rows: pa.Table) -> pa.Array:
    at = pa.array(np.datetime_as_string(rows["at"].to_numpy(), unit="ms"))
    number = {each: rows[each].cast(pa.string()) for each in rows.column_names if each != "at"}
    text = pc.binary_join_element_wise(
        *('{"id":', number["id"], ',"at":"', at, 'Z","account":', number["account"]),
        *(',"product":', number["product"], ',"kind":"', number["kind"]),
        *('","amount":', number["amount"], "}", ""),
    )
    return text.cast(pa.binary()).combine_chunks()


def _mixed(seed: int, numbers: Numbers) -> Numbers:
    """Spread numbers over 64 bits (the finalizer of splitmix64)."""
    with np.errstate(over="ignore"):
        mixed = numbers + np.uint64(seed + 1) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return mixed ^ (mixed >> np.uint64(31))
