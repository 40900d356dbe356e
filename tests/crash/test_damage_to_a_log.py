"""Bit flips and lost bytes in every kind of file of a log: found, reported, never served, never cut."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from crash.damaged_log import Original, check_goes_on, check_readers, is_reported, opened
from headwater.log.disk import LocalDisk
from headwater.log.verify import verify
from headwater.testing.power_cut import RecordingDisk
from log.batches import Sender, batch, values

LEADER_EPOCH = range(12, 16)
"""Bytes of a batch that nothing vouches for; readers do not see them as data."""


@pytest.fixture
def original(tmp_path: Path) -> Original:
    return Original.made(tmp_path / "original")


def places(original: Original, random: Random, count: int | None) -> Iterator[tuple[Path, int]]:
    every = [(name, at) for name, start, end in original.batches for at in range(start, end)]
    starts = {(name, start) for name, start, _ in original.batches}
    every = [
        (name, at)
        for name, at in every
        if not any((name, at - each) in starts for each in LEADER_EPOCH)
    ]
    yield from every if count is None else random.sample(every, count)


def test_flipped_bit_in_a_segment_is_found_and_never_served(
    tmp_path: Path, original: Original
) -> None:
    flip_bits(tmp_path, original, Random(1), 250)


def flip_bits(root: Path, original: Original, random: Random, count: int | None) -> int:
    tried = 0
    for number, (name, position) in enumerate(places(original, random, count)):
        directory = original.copied(root / f"flip-{number}")
        data = bytearray((directory / name).read_bytes())
        data[position] ^= 1 << random.randrange(8)
        (directory / name).write_bytes(data)
        assert not verify(LocalDisk(), directory).is_sound, f"byte {position} of {name}: unnoticed"

        log = opened(directory)

        check_readers(log, original, original.hit(name, position))
        assert is_reported(log, directory)
        assert (directory / name).stat().st_size >= len(data), "damage was cut away"
        check_goes_on(log, original)
        check_readers(opened(directory), original, original.hit(name, position))
        tried += 1
    return tried


def test_segment_that_lost_its_end_is_found_and_its_offsets_are_not_given_again(
    tmp_path: Path, original: Original
) -> None:
    cut_files(tmp_path, original, Random(2), 120)


def cut_files(root: Path, original: Original, random: Random, count: int | None) -> int:
    tried = 0
    for number, (name, position) in enumerate(places(original, random, count)):
        directory = original.copied(root / f"cut-{number}")
        (directory / name).write_bytes((directory / name).read_bytes()[:position])
        assert not verify(LocalDisk(), directory).is_sound, f"{name} cut to {position}: unnoticed"

        log = opened(directory)

        check_readers(log, original, original.cut_off(name, position))
        assert log.damage
        check_goes_on(log, original)
        check_readers(opened(directory), original, original.cut_off(name, position))
        tried += 1
    return tried


@pytest.mark.parametrize("boundary", [True, False], ids=["between batches", "inside a batch"])
def test_damaged_end_after_a_clean_shutdown_is_found(
    tmp_path: Path, original: Original, *, boundary: bool
) -> None:
    directory = original.copied(tmp_path / "clean")
    summary = opened(directory).close()
    name, start, end = list(original.batches)[-1]
    position = start if boundary else end - 1
    (directory / name).write_bytes((directory / name).read_bytes()[:position])

    log = type(opened(original.directory)).open(
        LocalDisk(),
        directory,
        opened(original.directory).settings,
        opened(directory).clock,
        summary=summary,
    )

    check_readers(log, original, original.cut_off(name, position))
    assert log.damage


def test_missing_segment_is_found(tmp_path: Path, original: Original) -> None:
    names = sorted({name for name, _, _ in original.batches})
    for name in names[1:]:
        directory = original.copied(tmp_path / name.stem)
        (directory / name).unlink()

        log = opened(directory)

        check_readers(log, original, original.cut_off(name, 0))
        assert log.damage
        check_goes_on(log, original)


@pytest.mark.parametrize("suffix", [".index", ".snapshot"])
@pytest.mark.parametrize("harm", ["flip", "cut", "empty", "gone"])
def test_damaged_file_that_can_be_made_anew_is_made_anew(
    tmp_path: Path, original: Original, suffix: str, harm: str
) -> None:
    directory = original.copied(tmp_path / "copy")
    for each in directory.glob(f"*{suffix}"):
        harmed(each, harm, Random(3))

    log = opened(directory)

    check_readers(log, original, set())
    retried = log.append(batch(values("29-first", "29-second"), Sender(1, 0, 58), codec=1))
    assert (retried.is_duplicate, retried.base_offset) == (True, 58)
    check_goes_on(log, original)


def test_damaged_partition_state_is_reported_and_set_aside(
    tmp_path: Path, original: Original
) -> None:
    for harm in ("flip", "cut", "empty"):
        directory = original.copied(tmp_path / harm)
        harmed(directory / "partition", harm, Random(4))
        assert not verify(LocalDisk(), directory).is_sound

        log = opened(directory)

        assert "partition" in str(log.damage[0])
        assert (directory / "partition.damaged").exists()
        check_readers(log, original, set())
        check_goes_on(log, original)


def test_log_start_survives_damage_to_the_partition_state_after_a_clean_shutdown(
    tmp_path: Path, original: Original
) -> None:
    directory = original.copied(tmp_path / "copy")
    log = opened(directory)
    log.advance_start(7).run()
    summary = log.close()
    harmed(directory / "partition", "flip", Random(5))

    log = type(log).open(LocalDisk(), directory, log.settings, log.clock, summary=summary)

    assert log.log_start_offset == 7
    assert log.damage


@pytest.mark.parametrize("harm", ["flip", "cut", "empty", "gone"])
def test_damaged_recovery_point_costs_no_record(
    tmp_path: Path, original: Original, harm: str
) -> None:
    directory = original.copied(tmp_path / "copy")
    harmed(directory / "recovery-point", harm, Random(6))

    log = opened(directory)

    check_readers(log, original, set())
    check_goes_on(log, original)


def test_one_damaged_slot_of_the_recovery_point_does_not_turn_damage_into_a_torn_tail(
    tmp_path: Path, original: Original
) -> None:
    directory = original.copied(tmp_path / "copy")
    harmed(directory / "recovery-point", "flip", Random(7))
    name, start, _ = list(original.batches)[2]
    data = bytearray((directory / name).read_bytes())
    data[start + 70] ^= 1
    (directory / name).write_bytes(data)

    log = opened(directory)

    check_readers(log, original, original.hit(name, start))


def test_damage_in_a_sealed_segment_is_not_taken_for_a_torn_tail_after_a_power_cut(
    tmp_path: Path,
) -> None:
    """What the power cut leaves of `recovery-point` must still vouch for sealed segments."""
    (tmp_path / "life").mkdir()
    disk = RecordingDisk(tmp_path / "life")
    life = Original.made(tmp_path / "life", disk=disk)
    disk.recording.leave(len(disk.recording), tmp_path / "left")
    directory = tmp_path / "left" / life.directory.name
    name, start, _ = next(iter(life.batches))
    data = bytearray((directory / name).read_bytes())
    data[start + 70] ^= 1
    (directory / name).write_bytes(data)

    log = opened(directory)

    check_readers(log, life, life.hit(name, start))
    assert log.damage


def harmed(path: Path, harm: str, random: Random) -> None:
    data = bytearray(path.read_bytes())
    if harm == "flip":
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    kept = {"flip": data, "cut": data[: random.randrange(1, len(data))], "empty": b""}
    if harm == "gone":
        path.unlink()
    else:
        path.write_bytes(kept[harm])
