"""What a power cut leaves of pins and snapshots."""

import errno
import os
from pathlib import Path

import pyarrow as pa
import pytest

from headwater.errors import Corruption
from headwater.streams.changelog.pins import Pin, Pins
from headwater.streams.changelog.snapshots import DELETED, KEY, Snapshot, Snapshots

ROWS = pa.table({KEY: [b"a"], "n": [1], DELETED: [False]})


@pytest.fixture
def pins(tmp_path: Path) -> Pins:
    offsets = tmp_path / "checkpoint" / "offsets"
    offsets.mkdir(parents=True)
    (offsets / "0").write_text("v1")
    return Pins(tmp_path / "table" / "pins", tmp_path / "checkpoint")


@pytest.fixture
def synced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names under which files and folders were synced."""
    names: list[str] = []
    really = os.fsync

    def fsync(descriptor: int) -> None:
        names.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        really(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    return names


@pytest.fixture
def failing_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def fsync(_: int) -> None:
        raise OSError(errno.EIO, "the disk fails")

    monkeypatch.setattr(os, "fsync", fsync)


@pytest.mark.usefixtures("failing_disk")
def test_a_snapshot_that_is_not_on_disk_has_no_name(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="the disk fails"):
        Snapshots(tmp_path).keep(0, Snapshot(5, 0, ROWS))
    assert list(tmp_path.glob("*.arrow")) == []


@pytest.mark.usefixtures("failing_disk")
def test_a_pin_that_is_not_on_disk_has_no_name(pins: Pins) -> None:
    pins.folder.mkdir(parents=True)
    with pytest.raises(OSError, match="the disk fails"):
        pins.of_this_batch(lambda: Pin("topic", {0: 1}))
    assert list(pins.folder.glob("*.json")) == []


def test_the_names_of_pins_and_snapshots_outlast_a_power_cut(
    pins: Pins, tmp_path: Path, synced: list[str]
) -> None:
    pins.of_this_batch(lambda: Pin("topic", {0: 1}))
    assert synced[-1] == "pins"
    assert "table" in synced, "the folder of pins may be lost with all that is in it"
    Snapshots(tmp_path / "rows").keep(0, Snapshot(5, 0, ROWS))
    assert synced[-1] == "rows"


def test_a_pin_of_another_task_outlasts_a_power_cut_before_it_is_followed(
    pins: Pins, synced: list[str]
) -> None:
    pins.of_this_batch(lambda: Pin("topic", {0: 1}))
    synced.clear()
    assert pins.of_this_batch(lambda: Pin("topic", {0: 2})) == Pin("topic", {0: 1})
    assert synced == ["pins"]


@pytest.mark.parametrize("part", [0.0, 0.5, 0.99])
def test_a_torn_snapshot_is_as_good_as_none(tmp_path: Path, part: float) -> None:
    snapshots = Snapshots(tmp_path)
    snapshots.keep(0, Snapshot(5, 0, ROWS))
    snapshots.keep(0, Snapshot(9, 0, ROWS))
    torn = tmp_path / "0-9.arrow"
    whole = torn.read_bytes()
    torn.write_bytes(whole[: int(part * len(whole))])
    assert snapshots.at(0, 9) is None
    torn.write_bytes(whole[: int(part * len(whole))])
    before = snapshots.before(0, 12)
    assert before is not None
    assert before.end == 5
    assert not torn.exists()


def test_a_torn_pin_is_named_and_not_chosen_anew(pins: Pins) -> None:
    """The batch may be partly written: with other rows it would be another one."""
    pins.of_this_batch(lambda: Pin("topic", {0: 1}))
    (pins.folder / "0.json").write_text("")
    with pytest.raises(Corruption, match=r"0\.json is damaged"):
        pins.of_this_batch(lambda: Pin("topic", {0: 2}))
