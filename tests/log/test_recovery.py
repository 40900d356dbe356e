"""Recovery: single cases that a random life meets rarely."""

from pathlib import Path

from headwater.log.partition import PartitionLog
from headwater.log.settings import LogSettings
from headwater.testing import SettableClock
from headwater.testing.power_cut import (
    Change,
    Link,
    RecordingDisk,
    Survival,
    Unlink,
    everything,
    nothing_unsynced,
)
from log.batches import Sender, batch, read_all, values

SETTINGS = LogSettings(segment_bytes=400)


def opened(disk: RecordingDisk, settings: LogSettings = SETTINGS) -> PartitionLog:
    return PartitionLog.open(disk, disk.root / "orders-0", settings, SettableClock())


def cut(disk: RecordingDisk, into: Path, survival: Survival = nothing_unsynced) -> RecordingDisk:
    disk.recording.leave(len(disk.recording), into, survival)
    return RecordingDisk(into)


def names_only(change: Change) -> Change | None:
    """Names are written back at once, bytes are not: what many file systems do."""
    return change if isinstance(change, Link | Unlink) else None


def roll_by_appending(log: PartitionLog) -> None:
    before = log.active.base_offset
    while log.active.base_offset == before:
        log.append(batch(values("filler")))


def test_torn_snapshot_of_a_clean_stop_does_not_push_out_the_durable_one(tmp_path: Path) -> None:
    """A producer whose records were deleted is known from a snapshot only."""
    (tmp_path / "life").mkdir()
    disk = RecordingDisk(tmp_path / "life")
    log = opened(disk)
    sent = batch(values("first"), Sender(7, 0, 0))
    log.append(sent)
    roll_by_appending(log)
    roll_by_appending(log)
    log.sync()
    log.advance_start(log.active.base_offset).run()
    log.append(batch(values("more")))
    summary = log.close()
    log = PartitionLog.open(
        disk, disk.root / "orders-0", SETTINGS, SettableClock(), summary=summary
    )
    roll_by_appending(log)

    recovered = opened(cut(disk, tmp_path / "left", names_only))

    assert recovered.next_offset == summary.next_offset
    assert recovered.append(sent).is_duplicate


def test_batches_behind_a_lost_one_in_the_next_segment_are_not_served(tmp_path: Path) -> None:
    """Unsynced: the end of a segment is lost, the whole next segment has survived."""
    (tmp_path / "life").mkdir()
    disk = RecordingDisk(tmp_path / "life")
    log = opened(disk)
    log.append(batch(values("synced")))
    log.sync()
    sealed = log.active
    end = sealed.size
    roll_by_appending(log)
    roll_by_appending(log)
    disk.recording.leave(len(disk.recording), tmp_path / "left", everything)
    left = tmp_path / "left/orders-0"
    (left / sealed.path.name).write_bytes((left / sealed.path.name).read_bytes()[:end])

    recovered = opened(RecordingDisk(tmp_path / "left"))

    assert [each.value for each in read_all(recovered)] == [b"synced"]
    assert recovered.damage == []
    assert [each.name for each in left.glob("*.log")] == [sealed.path.name]


def test_snapshot_of_a_lost_end_never_comes_back(tmp_path: Path) -> None:
    """It would answer for batches of its own time: a new one could be taken for a duplicate."""
    (tmp_path / "life").mkdir()
    disk = RecordingDisk(tmp_path / "life")
    log = opened(disk)
    log.append(batch(values("synced")))
    log.sync()
    log.append(batch(values("lost"), Sender(7, 0, 0)))
    roll_by_appending(log)

    again = cut(disk, tmp_path / "left")
    recovered = opened(again, LogSettings())
    while recovered.next_offset <= log.active.base_offset:
        recovered.append(batch(values("other")))
    recovered.sync()
    last = opened(cut(again, tmp_path / "later"))

    assert not last.append(batch(values("lost"), Sender(7, 0, 0))).is_duplicate
