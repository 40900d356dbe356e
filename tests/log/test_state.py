"""The small files of a partition."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.errors import Corruption
from headwater.log import checksummed
from headwater.log.disk import LocalDisk
from headwater.log.state import PartitionState, RecoveryPoint, read_recovery_point


@given(st.binary(max_size=60), st.data())
def test_every_flipped_bit_and_every_cut_of_a_framed_file_is_found(
    payload: bytes, data: st.DataObject
) -> None:
    whole = checksummed.wrap(b"TEST", payload)
    assert checksummed.unwrap(b"TEST", whole) == payload
    flipped = bytearray(whole)
    flipped[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(Corruption):
        checksummed.unwrap(b"TEST", bytes(flipped))
    with pytest.raises(Corruption):
        checksummed.unwrap(b"TEST", whole[: data.draw(st.integers(0, len(whole) - 1))])


def test_state_reads_back_as_it_was_written() -> None:
    state = PartitionState("ab" * 16, 7, ((0, 0), (3, 5)), cleaned_to=4, sparse_to=6)

    assert PartitionState.decode(state.encode()) == state


def test_new_epoch_cuts_those_that_reached_further() -> None:
    state = PartitionState(leader_epochs=((0, 0), (1, 10), (2, 30)))

    assert state.with_epoch_from(20).leader_epochs == ((0, 0), (1, 10), (3, 20))


def test_recovery_point_is_the_last_one_noted_or_kept(tmp_path: Path) -> None:
    disk = LocalDisk()
    assert read_recovery_point(disk, tmp_path) == 0
    point = RecoveryPoint(disk, tmp_path)
    for offset, write in ((5, point.keep), (7, point.note), (9, point.keep), (11, point.keep)):
        write(offset)
        assert read_recovery_point(disk, tmp_path) == offset
    assert read_recovery_point(disk, tmp_path) == 11


@pytest.mark.parametrize("torn", range(21))
def test_torn_write_of_the_recovery_point_leaves_the_durable_one(tmp_path: Path, torn: int) -> None:
    disk = LocalDisk()
    point = RecoveryPoint(disk, tmp_path)
    point.keep(100)
    path = tmp_path / "recovery-point"
    before = path.read_bytes()
    for write in (point.keep, point.note):
        write(200)
        after = path.read_bytes()
        changed = next(at for at in range(len(after)) if after[at : at + 1] != before[at : at + 1])
        start = changed // 32 * 32
        path.write_bytes(before[:start] + after[start : start + torn] + before[start + torn :])
        assert read_recovery_point(disk, tmp_path) in (100, 200)
        path.write_bytes(before)
