"""Offsets by time, exact to the record, against a plain search."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.batches import Record
from conformance.batches import batch as timed_batch
from headwater.log import compaction
from headwater.log.cleaner import clean
from headwater.log.partition import PartitionLog
from headwater.log.settings import LogSettings
from headwater.log.times import first_at_or_after, latest_time
from headwater.testing import SettableClock
from headwater.testing.power_cut import RecordingDisk
from log.batches import NOW_MS, batch, read_all, values
from rigs.effort import examples


@given(st.lists(st.integers(0, 50), max_size=30), st.integers(0, 60), st.integers(0, 30))
@settings(max_examples=examples(50))
def test_first_record_at_or_after_a_time_is_found(
    times: list[int], wanted: int, start: int
) -> None:
    with tempfile.TemporaryDirectory() as root:
        log = PartitionLog.open(
            RecordingDisk(Path(root)),
            Path(root) / "orders-0",
            LogSettings(segment_bytes=300),
            SettableClock(NOW_MS),
        )
        for each in times:
            log.append(batch(values("x"), time_ms=NOW_MS + each))
        log.sync()
        log.advance_start(min(start, log.high_watermark)).run()
        records = read_all(log)

        found = first_at_or_after(log, NOW_MS + wanted, log.high_watermark)
        due = next((each.offset for each in records if each.timestamp >= NOW_MS + wanted), None)
        assert (found.offset if found is not None else None) == due

        latest = latest_time(log, log.high_watermark)
        last = max(records, key=lambda each: (each.timestamp, -each.offset), default=None)
        assert (latest.offset if latest else None) == (last.offset if last else None)


def test_a_batch_that_has_lost_its_latest_record_hides_no_later_one(tmp_path: Path) -> None:
    disk = RecordingDisk(tmp_path)
    rules = LogSettings(is_compacted=True, min_cleanable_dirty_ratio=0.01)
    log = PartitionLog.open(disk, tmp_path / "orders-0", rules, SettableClock(NOW_MS))

    def append(*records: tuple[bytes, int]) -> None:
        made = [Record(key=key, timestamp=NOW_MS + time_ms) for key, time_ms in records]
        log.append(memoryview(timed_batch(*made)))

    append((b"a", 50))
    append((b"b", 100), (b"c", 10))
    append((b"b", 20))
    log.roll(NOW_MS)
    log.sync()
    (plan,) = compaction.plan(log, NOW_MS + 1000)
    exchange = compaction.Exchange.of(log, plan, clean(plan.job, disk))
    segment = exchange.commit()
    assert exchange.install(segment)
    exchange.finish(segment)
    assert [each.offset for each in read_all(log)] == [0, 2, 3]

    found = latest_time(log, log.high_watermark)

    assert found is not None
    assert (found.offset, found.timestamp) == (0, NOW_MS + 50)
