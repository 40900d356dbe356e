"""Stretches: long reads that are found at once, and read and checked piece by piece."""

import os
from pathlib import Path

import pytest

from headwater.errors import Corruption
from headwater.log.disk import LocalDisk
from headwater.log.partition import PartitionLog
from headwater.log.segment import PIECE_BYTES
from headwater.log.settings import LogSettings
from headwater.log.stretch import Stretch
from headwater.testing import SettableClock
from headwater.wire.record_batch import iterate_headers
from log.batches import NOW_MS, batch

COUNT = 12
VALUE = os.urandom(300_000)
ONE = len(batch([(None, VALUE)]))
WHOLE = COUNT * ONE


@pytest.fixture
def log(tmp_path: Path) -> PartitionLog:
    return filled(tmp_path)


def opened(root: Path, **settings: int) -> PartitionLog:
    return PartitionLog.open(
        LocalDisk(), root / "orders-0", LogSettings(**settings), SettableClock(NOW_MS)
    )


def filled(root: Path, **settings: int) -> PartitionLog:
    log = opened(root, **settings)
    for _ in range(COUNT):
        log.append(batch([(None, VALUE)]))
    log.sync()
    return log


def found(
    log: PartitionLog, offset: int = 0, max_bytes: int = WHOLE, limit: int = COUNT
) -> Stretch:
    stretch = log.find(offset, max_bytes, limit)
    assert isinstance(stretch, Stretch)
    return stretch


def taken(stretch: Stretch, pieces: list[bytes] | None = None) -> list[bytes]:
    pieces = [] if pieces is None else pieces
    while not stretch.is_spent:
        stretch.load()
        pieces.append(bytes(stretch.take()))
    return pieces


def offsets(pieces: list[bytes]) -> list[int]:
    return [
        header.base_offset for piece in pieces for _, header in iterate_headers(memoryview(piece))
    ]


def test_pieces_together_are_what_was_announced(log: PartitionLog) -> None:
    stretch = found(log)
    announced = len(stretch)
    pieces = taken(stretch)

    assert b"".join(pieces) == log.active.path.read_bytes()
    assert announced == len(b"".join(pieces)) == WHOLE
    assert (stretch.first_offset, stretch.next_offset) == (0, COUNT)
    assert len(pieces) == 4
    assert max(map(len, pieces)) <= PIECE_BYTES


def test_what_fits_into_one_piece_is_no_stretch(log: PartitionLog) -> None:
    for offset, max_bytes in ((0, PIECE_BYTES - 1), (COUNT - 2, WHOLE), (0, 1), (3, 2 * ONE)):
        records = log.find(offset, max_bytes, COUNT)
        assert isinstance(records, memoryview)
        assert offsets([bytes(records)])[0] == offset


@pytest.mark.parametrize("count", range(4, COUNT))
def test_stretch_ends_with_the_last_batch_that_has_room(log: PartitionLog, count: int) -> None:
    for max_bytes in (count * ONE, count * ONE + 1, (count + 1) * ONE - 1):
        stretch = found(log, max_bytes=max_bytes)
        assert (len(stretch), stretch.next_offset) == (count * ONE, count)
        assert offsets(taken(stretch)) == list(range(count))


def test_stretch_ends_at_the_limit_of_the_reader(log: PartitionLog) -> None:
    stretch = found(log, limit=7)

    assert (len(stretch), stretch.next_offset) == (7 * ONE, 7)
    assert offsets(taken(stretch)) == list(range(7))


def test_stretch_shows_nothing_that_came_after_it(log: PartitionLog) -> None:
    stretch = found(log, offset=2)
    for _ in range(3):
        log.append(batch([(None, VALUE)]))
    log.sync()

    assert offsets(taken(stretch)) == list(range(2, COUNT))


def test_batches_larger_than_a_piece_are_pieces(tmp_path: Path) -> None:
    log = opened(tmp_path, max_message_bytes=3 * PIECE_BYTES)
    for size in (10, 2 * PIECE_BYTES, PIECE_BYTES + 1, 10, PIECE_BYTES - 500):
        log.append(batch([(None, bytes(size))]))
    log.sync()

    pieces = taken(found(log, max_bytes=8 * PIECE_BYTES, limit=5))

    assert offsets(pieces) == [0, 1, 2, 3, 4]
    assert b"".join(pieces) == log.active.path.read_bytes()


def test_many_small_batches_are_all_there(tmp_path: Path) -> None:
    log = opened(tmp_path)
    for each in range(5000):
        log.append(batch([(None, bytes(each % 1000))]))
    log.sync()
    seen: list[int] = []
    while len(seen) < 5000:
        stretch = log.find(len(seen), 5 << 20, 5000)
        pieces = taken(stretch) if isinstance(stretch, Stretch) else [bytes(stretch)]
        assert len(b"".join(pieces)) == len(stretch)
        seen += offsets(pieces)

    assert seen == list(range(5000))


@pytest.mark.parametrize("offset", [0, 5, COUNT - 1])
def test_what_is_read_later_is_the_same(log: PartitionLog, offset: int) -> None:
    for max_bytes in (ONE, 2 * ONE - 1, 5 * ONE, WHOLE):
        read = log.find(offset, max_bytes, COUNT)
        stretch = log.find(offset, max_bytes, COUNT, strict=True, unread=True)
        assert isinstance(stretch, Stretch)
        assert not stretch.is_loaded
        assert stretch.first_offset == offset
        pieces = taken(read) if isinstance(read, Stretch) else [bytes(read)]
        assert len(stretch) == len(b"".join(pieces))
        assert b"".join(taken(stretch)) == b"".join(pieces)


def test_what_has_no_room_is_not_read_later(log: PartitionLog) -> None:
    assert len(log.find(0, ONE - 1, COUNT, strict=True, unread=True)) == 0


def test_damage_at_the_beginning_of_what_is_read_later_is_told_when_asked_again(
    log: PartitionLog,
) -> None:
    damage(log, 3)
    stretch = log.find(3, WHOLE, COUNT, strict=True, unread=True)
    assert isinstance(stretch, Stretch)
    with pytest.raises(Corruption, match="offset 3 "):
        stretch.load()
    with pytest.raises(Corruption, match="offset 3 "):
        log.find(3, WHOLE, COUNT, strict=True, unread=True)


@pytest.mark.parametrize("victim", [1, 3, 7, COUNT - 1])
def test_damage_in_a_later_piece_is_never_served_and_met_but_once(
    log: PartitionLog, victim: int
) -> None:
    damage(log, victim)
    first = log.find(0, WHOLE, COUNT)
    served: list[bytes] = []
    if isinstance(first, Stretch) and first.next_offset > victim:
        with pytest.raises(Corruption, match=f"offset {victim} "):
            taken(first, served)
        assert offsets(served) == list(range(victim))

    again = log.find(0, WHOLE, COUNT)
    pieces = taken(again) if isinstance(again, Stretch) else [bytes(again)]
    assert offsets(pieces) == list(range(victim))
    assert len(again) == victim * ONE
    with pytest.raises(Corruption, match=f"offset {victim} "):
        log.find(victim, WHOLE, COUNT)
    if victim + 1 < COUNT:
        assert offsets([bytes(log.read(victim + 1, 1, COUNT))]) == [victim + 1]


def test_two_damaged_batches_are_met_one_after_the_other(log: PartitionLog) -> None:
    damage(log, 9)
    with pytest.raises(Corruption):
        taken(found(log))
    damage(log, 6)
    with pytest.raises(Corruption, match="offset 6 "):
        taken(found(log))

    assert found(log).next_offset == 6


def damage(log: PartitionLog, offset: int) -> None:
    with log.active.path.open("r+b") as file:
        file.seek(offset * ONE + ONE // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))


def test_lost_end_of_a_file_is_found_in_the_piece_that_needs_it(log: PartitionLog) -> None:
    os.truncate(log.active.path, 8 * ONE + 100)
    with pytest.raises(Corruption):
        taken(found(log))

    assert found(log).next_offset == 8


def test_expired_segment_is_read_to_the_end_by_who_has_begun(tmp_path: Path) -> None:
    log = filled(tmp_path, segment_bytes=6 * ONE)
    assert len(log.segments) == 2
    stretch = found(log)
    log.advance_start(6).run()

    assert not (tmp_path / "orders-0" / f"{0:020d}.log").exists()
    assert offsets(taken(stretch)) == list(range(6))
