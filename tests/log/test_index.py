"""The sparse index: never beyond the offset or time asked for, and never believed when damaged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import Corruption
from headwater.log.index import INTERVAL_BYTES, Index

batches = st.lists(st.tuples(st.integers(1, 9), st.integers(70, 3 * INTERVAL_BYTES)), max_size=50)


def indexed(sizes: list[tuple[int, int]]) -> tuple[Index, list[tuple[int, int]]]:
    index = Index()
    offset = position = 0
    places = []
    for count, size in sizes:
        index.note(offset, position, max_timestamp_before=offset * 10 - 1)
        places.append((offset, position))
        offset += count
        position += size
    return index, places


@given(batches, st.integers(0, 500))
def test_entry_is_a_batch_at_or_before_the_offset(
    sizes: list[tuple[int, int]], wanted: int
) -> None:
    index, places = indexed(sizes)

    found = index.entry_for_offset(wanted)

    assert found == (0, 0) or found in places
    assert found[0] <= wanted
    nearest = max((each for each in places if each[0] <= wanted), default=(0, 0))
    assert nearest[1] - found[1] < 4 * INTERVAL_BYTES


@given(batches, st.integers(0, 5000))
def test_everything_before_the_position_for_a_time_is_older(
    sizes: list[tuple[int, int]], wanted: int
) -> None:
    index, places = indexed(sizes)

    position = index.position_for_time(wanted)

    assert all(offset * 10 - 1 < wanted for offset, at in places if at <= position)


@given(batches, st.data())
def test_stored_index_reads_back_and_no_damage_is_believed(
    sizes: list[tuple[int, int]], data: st.DataObject
) -> None:
    index, _ = indexed(sizes)
    whole = index.encode(123, 456, 789)
    decoded, *rest = Index.decode(whole)
    assert (decoded.offsets, decoded.positions, decoded.times) == (
        index.offsets,
        index.positions,
        index.times,
    )
    assert rest == [123, 456, 789]
    flipped = bytearray(whole)
    flipped[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(Corruption):
        Index.decode(bytes(flipped))


@given(batches, st.integers(0, 50_000))
def test_truncated_index_knows_nothing_of_what_was_cut(
    sizes: list[tuple[int, int]], size: int
) -> None:
    index, _ = indexed(sizes)

    index.truncate(size)

    assert all(each < size for each in index.positions)
    assert len(index.offsets) == len(index.positions) == len(index.times)
