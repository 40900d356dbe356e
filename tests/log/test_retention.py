"""Retention: whole segments from the front, never past the high watermark."""

import errno
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from headwater.errors import StorageFailed
from headwater.log import retention
from headwater.log.disk import LocalDisk
from headwater.log.partition import PartitionLog
from headwater.log.settings import LogSettings
from headwater.testing import SettableClock
from headwater.testing.disk import Fault, FaultyDisk
from headwater.testing.power_cut import RecordingDisk
from log.batches import NOW_MS, batch, read_all, values

SETTINGS = LogSettings(segment_bytes=200, retention_ms=60_000)


def filled(root: Path, settings: LogSettings = SETTINGS, count: int = 10) -> PartitionLog:
    log = PartitionLog.open(RecordingDisk(root), root / "orders-0", settings, SettableClock(NOW_MS))
    for each in range(count):
        log.append(batch(values(str(each)), time_ms=NOW_MS + 1000 * each))
    log.sync()
    return log


def expire(log: PartitionLog, now_ms: int) -> None:
    removal = retention.expire(log, now_ms)
    if removal is not None:
        removal.run()


def test_old_segments_go_young_ones_stay(tmp_path: Path) -> None:
    log = filled(tmp_path)
    expire(log, NOW_MS + 60_000 + 4_500)

    first = log.segments[0]
    assert 0 < log.log_start_offset == first.base_offset <= 5
    assert min(each.name for each in log.directory.glob("*.log")) == first.path.name


def test_everything_may_go_and_offsets_go_on(tmp_path: Path) -> None:
    log = filled(tmp_path)
    expire(log, NOW_MS + 3_600_000)

    assert read_all(log) == []
    assert log.append(batch(values("next"))).base_offset == 10
    log.sync()
    reopened = PartitionLog.open(
        RecordingDisk(tmp_path), log.directory, SETTINGS, SettableClock(NOW_MS)
    )
    assert [each.offset for each in read_all(reopened)] == [10]


def test_records_that_are_not_synced_are_never_deleted(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.append(batch(values("unsynced"), time_ms=NOW_MS))
    expire(log, NOW_MS + 3_600_000)
    log.sync()

    assert b"unsynced" in [each.value for each in read_all(log)]


def test_size_limit_keeps_at_least_that_much(tmp_path: Path) -> None:
    log = filled(tmp_path, replace(SETTINGS, retention_bytes=450))
    expire(log, NOW_MS)

    assert log.size_bytes >= 450
    assert log.size_bytes - log.segments[0].size < 450


def test_compacted_log_is_not_expired(tmp_path: Path) -> None:
    log = filled(tmp_path, replace(SETTINGS, is_deleted=False))

    assert retention.expire(log, NOW_MS + 10**12) is None


def test_records_without_a_time_are_as_old_as_their_file(tmp_path: Path) -> None:
    clock = SettableClock()
    disk = RecordingDisk(tmp_path)
    log = PartitionLog.open(disk, tmp_path / "orders-0", SETTINGS, clock)
    log.append(batch(values("timeless"), time_ms=-1))
    log.sync()

    expire(log, clock.now_ms() + 30_000)
    assert [each.value for each in read_all(log)] == [b"timeless"]
    expire(log, clock.now_ms() + 90_000)
    assert read_all(log) == []


def test_segments_that_could_not_be_removed_go_the_next_time(tmp_path: Path) -> None:
    disk = FaultyDisk()
    log = PartitionLog.open(disk, tmp_path / "orders-0", SETTINGS, SettableClock(NOW_MS))
    for each in range(10):
        log.append(batch(values(str(each)), time_ms=NOW_MS))
    log.sync()
    disk.inject(Fault("replace", errno.ENOSPC, "*/partition"))
    with pytest.raises(StorageFailed, match="will be tried again"):
        expire(log, NOW_MS + 3_600_000)
    assert len(list(log.directory.glob("*.log"))) > 1
    assert len(list(log.directory.glob("*.index"))) == 0, "space that the state could have used"

    disk.heal()
    expire(log, NOW_MS + 3_600_000)

    assert [each.name for each in log.directory.glob("*.log")] == [log.active.path.name]
    assert retention.expire(log, NOW_MS + 3_600_000) is None


def test_nothing_is_written_for_a_deleted_topic_where_another_may_be(tmp_path: Path) -> None:
    log = filled(tmp_path)
    log.abandon()
    before = sorted(log.directory.iterdir())

    assert retention.expire(log, NOW_MS + 3_600_000) is None
    assert sorted(log.directory.iterdir()) == before


class OvertakenDisk(LocalDisk):
    """A disk on which something happens while the first file is removed."""

    overtake: Callable[[], None] | None = None

    def remove(self, path: Path) -> None:
        if (overtake := self.overtake) is not None:
            self.overtake = None
            overtake()
        super().remove(path)


def test_who_deletes_the_topic_waits_for_one_segment_and_not_for_all(tmp_path: Path) -> None:
    disk = OvertakenDisk()
    log = PartitionLog.open(disk, tmp_path / "orders-0", SETTINGS, SettableClock(NOW_MS))
    for each in range(10):
        log.append(batch(values(str(each)), time_ms=NOW_MS))
    log.sync()
    removal = retention.expire(log, NOW_MS + 3_600_000)
    assert removal is not None
    disk.overtake = log.abandon

    with pytest.raises(StorageFailed, match="deleted"):
        removal.run()
    assert len(list(log.directory.glob("*.log"))) == len(removal.segments) + 1
