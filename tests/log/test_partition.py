"""One partition: appending, reading, syncing, rolling, and what must never happen."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from headwater.errors import Corruption, OffsetOutOfRange, StorageFailed
from headwater.log.disk import File, LocalDisk
from headwater.log.partition import PartitionLog
from headwater.log.segment import NO_TIMESTAMP
from headwater.log.settings import LogSettings
from headwater.testing import SettableClock
from headwater.testing.power_cut import RecordingDisk, Write
from headwater.wire.record_batch import read_header
from log.batches import NOW_MS, Sender, batch, read_all, values

SETTINGS = LogSettings(segment_bytes=400)


@pytest.fixture
def log(tmp_path: Path) -> PartitionLog:
    return opened(tmp_path)


def opened(root: Path, settings: LogSettings = SETTINGS) -> PartitionLog:
    return PartitionLog.open(
        RecordingDisk(root), root / "orders-0", settings, SettableClock(NOW_MS)
    )


def filled(log: PartitionLog, count: int = 20) -> PartitionLog:
    for each in range(count):
        log.append(batch(values(str(each))))
    log.sync()
    return log


def test_partition_without_records_has_no_files(tmp_path: Path, log: PartitionLog) -> None:
    assert list(tmp_path.iterdir()) == []
    assert (log.next_offset, log.high_watermark) == (0, 0)
    assert len(log.read(0, 100, 0)) == 0


def test_reader_sees_nothing_before_the_sync_has_finished(log: PartitionLog) -> None:
    log.append(batch(values("a")))
    job = log.begin_sync()
    assert job is not None
    log.append(batch(values("b")))
    assert len(log.read(0, 100, log.high_watermark)) == 0
    job.run()
    assert len(log.read(0, 100, log.high_watermark)) == 0
    log.finish_sync(job)

    assert [each.value for each in read_all(log)] == [b"a"]


def test_every_offset_is_read_from_the_batch_that_holds_it(log: PartitionLog) -> None:
    for each in range(12):
        log.append(batch(values(*[f"{each}-{index}" for index in range(each % 3 + 1)])))
    log.sync()
    everything = read_all(log)

    for offset in range(log.next_offset):
        assert read_all(log, offset) == everything[offset:]
    assert len(log.segments) > 2


def test_answer_is_never_larger_than_asked_for_unless_it_is_one_batch(log: PartitionLog) -> None:
    filled(log)
    one = len(batch(values("0")))

    assert len(log.read(0, 1, log.high_watermark)) == one
    assert len(log.read(0, 2 * one + 1, log.high_watermark)) == 2 * one
    assert len(log.read(0, one - 1, log.high_watermark, strict=True)) == 0
    assert len(log.read(0, one, log.high_watermark, strict=True)) == one


def test_offsets_outside_the_log_are_refused(log: PartitionLog) -> None:
    filled(log)
    log.advance_start(5).run()

    for offset in (4, 21):
        with pytest.raises(OffsetOutOfRange):
            log.read(offset, 100, log.high_watermark)
    with pytest.raises(OffsetOutOfRange):
        log.advance_start(21)


def test_batch_is_stored_as_it_was_sent_but_for_offset_and_epoch(log: PartitionLog) -> None:
    filled(log, 3)
    sent = batch(values("x", "y"), Sender(5, 0, 0), codec=4)
    log.append(sent)
    log.sync()

    stored = log.read(3, 1000, log.high_watermark)

    assert stored[17:] == sent[17:]
    assert (read_header(stored).base_offset, read_header(stored).leader_epoch) == (3, 0)


def test_log_start_that_was_written_is_never_replaced_by_an_older_one(tmp_path: Path) -> None:
    """Two removals may run on two threads, in either order."""
    log = filled(opened(tmp_path))
    first, second = log.advance_start(3), log.advance_start(15)
    second.run()
    first.run()

    assert opened(tmp_path).log_start_offset == 15


def test_log_of_a_deleted_topic_never_touches_the_files_of_its_successor(tmp_path: Path) -> None:
    old = filled(opened(tmp_path))
    removal = old.advance_start(15)
    old.abandon()
    (tmp_path / "orders-0").rename(tmp_path / "deleted")
    new = filled(opened(tmp_path))

    with pytest.raises(StorageFailed):
        removal.run()
    with pytest.raises(StorageFailed):
        old.write_state()
    with pytest.raises(StorageFailed):
        old.append(batch(values("late")))

    assert read_all(opened(tmp_path)) == read_all(new)


def test_offsets_go_on_after_every_segment_was_lost(tmp_path: Path) -> None:
    filled(opened(tmp_path))
    for each in (tmp_path / "orders-0").glob("*.log"):
        each.unlink()

    log = opened(tmp_path)

    assert log.damage
    with pytest.raises(Corruption):
        log.read(0, 1000, log.high_watermark)
    assert log.append(batch(values("new"))).base_offset == 20


def test_lost_first_segment_is_an_error_not_a_later_start(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    filled(opened(tmp_path)).segments[0].path.unlink()
    for _ in range(2):
        caplog.clear()
        log = opened(tmp_path)

        assert log.log_start_offset == 0
        assert "damage found" in caplog.text
        with pytest.raises(Corruption):
            log.read(0, 1000, log.high_watermark)
        first = log.segments[0].base_offset
        assert log.offset_past_damage(0) == first
        assert read_all(log, first)
        log.append(batch(values("new")))
        log.sync()

    log.advance_start(first).run()  # What is lost is given up by who deletes it.
    assert opened(tmp_path).damage == []


def test_read_into_a_hole_is_an_error_not_a_jump(tmp_path: Path) -> None:
    log = filled(opened(tmp_path))
    victim = log.segments[1]
    victim.path.write_bytes(b"")

    log = opened(tmp_path)

    with pytest.raises(Corruption):
        log.read(victim.base_offset, 1000, log.high_watermark)
    assert read_all(log, log.segments[2].base_offset)
    assert log.offset_past_damage(victim.base_offset) == log.segments[2].base_offset


def test_segments_roll_by_size_and_by_time(tmp_path: Path) -> None:
    log = opened(tmp_path, replace(SETTINGS, segment_ms=1000))
    log.append(batch(values("a"), time_ms=NOW_MS))
    log.append(batch(values("b"), time_ms=NOW_MS + 500))
    assert len(log.segments) == 1
    log.append(batch(values("c"), time_ms=NOW_MS + 1600))
    assert [each.base_offset for each in log.segments] == [0, 2]


@pytest.mark.parametrize("is_clean", [True, False])
def test_time_to_roll_goes_on_over_a_restart(tmp_path: Path, is_clean: bool) -> None:
    settings = replace(SETTINGS, segment_ms=1000)

    def reopened(log: PartitionLog) -> PartitionLog:
        log.sync()
        summary = log.close() if is_clean else None
        clock = SettableClock(NOW_MS)
        directory = tmp_path / "orders-0"
        return PartitionLog.open(
            RecordingDisk(tmp_path), directory, settings, clock, summary=summary
        )

    log = opened(tmp_path, settings)
    for later_ms in (0, 400, 800):
        log.append(batch(values("a"), time_ms=NOW_MS + later_ms))
        log = reopened(log)
    log.append(batch(values("b"), time_ms=NOW_MS + 1200))

    assert [each.base_offset for each in log.segments] == [0, 3]


def test_records_without_a_time_begin_no_segment_at_each_restart(tmp_path: Path) -> None:
    log = opened(tmp_path)
    for _ in range(3):
        log.append(batch(values("a"), time_ms=NO_TIMESTAMP))
        summary = log.close()
        clock = SettableClock(NOW_MS)
        log = PartitionLog.open(
            RecordingDisk(tmp_path), tmp_path / "orders-0", SETTINGS, clock, summary=summary
        )

    assert len(log.segments) == 1


def test_clean_stop_is_trusted_and_nothing_is_read_or_written(tmp_path: Path) -> None:
    disk = RecordingDisk(tmp_path)
    clock = SettableClock(NOW_MS)
    log = filled(PartitionLog.open(disk, tmp_path / "orders-0", SETTINGS, clock))
    summary = log.close()
    before = len(disk.recording)

    again = PartitionLog.open(disk, tmp_path / "orders-0", SETTINGS, clock, summary=summary)

    assert not [each for each in disk.recording.events[before:] if isinstance(each, Write)]
    assert read_all(again) == read_all(log)
    assert again.append(batch(values("next"))).base_offset == 20


def test_cut_tail_starts_a_new_leader_epoch(tmp_path: Path) -> None:
    log = filled(opened(tmp_path), 3)
    with log.active.path.open("ab") as file:
        file.write(bytes(batch(values("torn")))[:-3])

    log = opened(tmp_path)

    assert (log.next_offset, log.leader_epoch) == (3, 1)
    assert log.state.leader_epochs == ((0, 0), (1, 3))
    assert log.damage == []


class OvertakenDisk(LocalDisk):
    """A disk on which something happens just before a file is opened."""

    overtake: Callable[[], None] | None = None

    def open(self, path: Path, *, create: bool = True) -> File:
        if (overtake := self.overtake) is not None:
            self.overtake = None
            overtake()
        return super().open(path, create=create)


def test_reader_of_records_that_are_deleted_meanwhile_is_not_told_of_damage(
    tmp_path: Path,
) -> None:
    filled(opened(tmp_path)).close()
    disk = OvertakenDisk()
    log = PartitionLog.open(disk, tmp_path / "orders-0", SETTINGS, SettableClock(NOW_MS))
    disk.overtake = lambda: log.advance_start(log.high_watermark).run()

    with pytest.raises(OffsetOutOfRange):
        log.read(0, 100, log.high_watermark)
    assert log.damage == []


def test_failed_log_keeps_nothing_of_those_it_refuses(log: PartitionLog) -> None:
    log.fail(OSError("broken"))
    refused = []
    for _ in range(2):
        with pytest.raises(StorageFailed, match="broken") as raised:
            log.append(batch(values("a")))
        refused.append(raised.value)

    assert refused[0] is not refused[1], "it would have the tracebacks of both"
    assert log.failure is not None
    assert log.failure.__traceback__ is None
