"""The recording disk itself: what is synced survives a power cut, what is not may."""

from pathlib import Path
from random import Random

import pytest

from headwater.testing.power_cut import RecordingDisk, at_random, everything


@pytest.fixture
def disk(tmp_path: Path) -> RecordingDisk:
    (tmp_path / "root").mkdir()
    return RecordingDisk(tmp_path / "root")


def left(disk: RecordingDisk, tmp_path: Path, survival: object = None) -> dict[str, bytes]:
    into = tmp_path / f"left-{len(list(tmp_path.iterdir()))}"
    if survival is None:
        disk.recording.leave(len(disk.recording), into)
    else:
        disk.recording.leave(len(disk.recording), into, survival)  # type: ignore[arg-type]
    return {
        str(each.relative_to(into)): each.read_bytes()
        for each in sorted(into.rglob("*"))
        if each.is_file()
    }


def test_bytes_survive_only_with_their_file_and_their_name_synced(
    tmp_path: Path, disk: RecordingDisk
) -> None:
    file = disk.open(disk.root / "a")
    file.append([b"one"])
    assert left(disk, tmp_path) == {}
    file.sync()
    assert left(disk, tmp_path) == {}, "the name was not synced"
    disk.sync_directory(disk.root)
    file.append([b"two"])
    assert left(disk, tmp_path) == {"a": b"one"}
    assert left(disk, tmp_path, everything) == {"a": b"onetwo"}


def test_rename_survives_with_its_directory_only(tmp_path: Path, disk: RecordingDisk) -> None:
    disk.replace(disk.root / "state", b"old")
    file = disk.open(disk.root / "new")
    file.append([b"new"])
    file.sync()
    disk.sync_directory(disk.root)

    disk.rename(disk.root / "new", disk.root / "state")

    assert left(disk, tmp_path) == {"new": b"new", "state": b"old"}
    assert left(disk, tmp_path, everything) == {"state": b"new"}
    disk.sync_directory(disk.root)
    assert left(disk, tmp_path) == {"state": b"new"}


def test_removed_file_comes_back_until_its_directory_is_synced(
    tmp_path: Path, disk: RecordingDisk
) -> None:
    disk.replace(disk.root / "a", b"one")
    disk.remove(disk.root / "a")
    assert left(disk, tmp_path) == {"a": b"one"}
    disk.sync_directory(disk.root)
    assert left(disk, tmp_path) == {}


def test_new_directory_needs_its_parent_synced(tmp_path: Path, disk: RecordingDisk) -> None:
    disk.make_directory(disk.root / "topic-0")
    disk.replace(disk.root / "topic-0/a", b"one")
    assert left(disk, tmp_path) == {}
    disk.sync_directory(disk.root)
    assert left(disk, tmp_path) == {"topic-0/a": b"one"}


def test_unsynced_writes_may_be_torn_zeroed_or_lost_out_of_order(
    tmp_path: Path, disk: RecordingDisk
) -> None:
    file = disk.open(disk.root / "a")
    disk.sync_directory(disk.root)
    file.append([b"11"])
    file.append([b"22"])
    found = {left(disk, tmp_path, at_random(Random(seed)))["a"] for seed in range(200)}

    assert {b"", b"11", b"1122", b"1", b"\0\x0022", b"112"} <= found


def test_cut_between_two_events_sees_only_what_came_before(
    tmp_path: Path, disk: RecordingDisk
) -> None:
    disk.replace(disk.root / "a", b"one")
    disk.recording.mark("first")
    at = len(disk.recording)
    disk.replace(disk.root / "a", b"two")
    disk.recording.mark("second")

    disk.recording.leave(at, tmp_path / "cut", everything)

    assert (tmp_path / "cut/a").read_bytes() == b"one"
    assert disk.recording.marks(at) == ["first"]
