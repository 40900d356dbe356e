"""Compaction against a model: what may go goes, what must stay stays, offsets never change."""

import errno
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.errors import Corruption, StorageFailed
from headwater.log import cleaner, compaction
from headwater.log.cleaner import clean
from headwater.log.disk import LocalDisk
from headwater.log.partition import PartitionLog
from headwater.log.settings import LogSettings
from headwater.testing import SettableClock
from headwater.testing.disk import Fault, FaultyDisk
from headwater.testing.power_cut import (
    RecordingDisk,
    at_random,
    everything,
    nothing_unsynced,
)
from log.batches import KeyValue, Sender, batch, read_all, read_batches
from rigs.effort import examples

SETTINGS = LogSettings(
    segment_bytes=700,
    is_compacted=True,
    is_deleted=False,
    delete_retention_ms=60_000,
    min_cleanable_dirty_ratio=0.01,
)


@dataclass
class Table:
    """A compacted log and the model of it."""

    root: Path
    settings: LogSettings = SETTINGS
    clock: SettableClock = field(default_factory=SettableClock)
    history: dict[int, KeyValue] = field(default_factory=dict)
    first_cleaned_ms: dict[int, int] = field(default_factory=dict)
    last_sent: dict[int, tuple[memoryview, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.disk = RecordingDisk(self.root)
        self.log = self.opened(self.root)
        self.sequences: dict[int, int] = {}

    def opened(self, root: Path) -> PartitionLog:
        disk = self.disk if root == self.root else RecordingDisk(root)
        return PartitionLog.open(disk, root / "table-0", self.settings, self.clock)

    def put(self, producer: int, codec: int, records: list[KeyValue]) -> None:
        self.clock.advance(seconds=1)
        sequence = self.sequences.get(producer, 0)
        sender = Sender(producer, 0, sequence)
        sent = batch(records, sender, codec=codec, time_ms=self.clock.now_ms())
        appended = self.log.append(sent)
        self.sequences[producer] = sequence + len(records)
        self.last_sent[producer] = (sent, appended.base_offset)
        for each, record in enumerate(records):
            self.history[appended.base_offset + each] = record
        self.log.sync()

    def compact(self, *, meanwhile: bool = False) -> bool:
        """As the broker does it, with appends in between; returns whether there was anything to do."""
        plans = compaction.plan(self.log, self.clock.now_ms())
        if not plans:
            return False
        cleaned_to = plans[-1].segments[-1].next_offset
        for offset in self.history:
            if offset < cleaned_to:
                self.first_cleaned_ms.setdefault(offset, self.clock.now_ms())
        compaction.mark_sparse(self.log, plans)
        self.log.write_state()
        for plan in plans:
            exchange = compaction.Exchange.of(self.log, plan, clean(plan.job, self.disk))
            segment = exchange.commit()
            if meanwhile:
                self.put(0, 0, [(b"meanwhile", b"1")])
            assert exchange.install(segment)
            exchange.finish(segment)
        compaction.mark_clean(self.log, plans)
        self.log.write_state()
        return True

    def check(self, log: PartitionLog) -> None:
        found = {each.offset: (each.key, each.value) for each in read_all(log)}
        for offset, record in found.items():
            assert record == self.history[offset], "a record moved or changed"
        last = {key: offset for offset, (key, _) in self.history.items()}
        for offset in last.values():
            assert offset in found or self._may_be_gone(offset), f"offset {offset} is lost"
        oldest = {self.history[offset][0]: offset for offset in sorted(found, reverse=True)}
        for offset in self.history.keys() - found.keys():
            key = self.history[offset][0]
            assert last[key] > offset or self._may_be_gone(offset)
            assert oldest.get(key, offset) >= offset, "a record outlived a later one of its key"
        self._check_readable_from_anywhere(log, sorted(found))

    def _may_be_gone(self, offset: int) -> bool:
        cleaned_ms = self.first_cleaned_ms.get(offset)
        is_tombstone = self.history[offset][1] is None
        waited = self.settings.delete_retention_ms
        return (
            is_tombstone and cleaned_ms is not None and self.clock.now_ms() >= cleaned_ms + waited
        )

    def _check_readable_from_anywhere(self, log: PartitionLog, offsets: list[int]) -> None:
        for start in range(log.log_start_offset, log.high_watermark):
            due = next((each for each in offsets if each >= start), None)
            got = (each.offset for _, records in read_batches(log, start) for each in records)
            assert next((each for each in got if each >= start), None) == due

    def check_clean(self) -> None:
        """In the cleaned part only the latest record of each key is left."""
        seen: dict[bytes | None, int] = {}
        for each in read_all(self.log):
            if each.offset < self.log.state.cleaned_to:
                assert each.key not in seen, "an outdated record was kept"
                seen[each.key] = each.offset

    def check_retries(self, log: PartitionLog) -> None:
        for sent, offset in self.last_sent.values():
            appended = log.append(sent)
            assert (appended.is_duplicate, appended.base_offset) == (True, offset)


keys = st.sampled_from([b"a", b"b", b"c", b"d", b"a key that is longer than sixteen bytes"])
a_record = st.tuples(keys, st.one_of(st.none(), st.binary(max_size=40)))
a_put = st.tuples(st.integers(0, 2), st.integers(0, 4), st.lists(a_record, min_size=1, max_size=4))
steps = st.lists(st.one_of(a_put, st.sampled_from(["compact", "wait", "meanwhile"])), max_size=40)


@given(
    steps=steps, lag_ms=st.sampled_from([0, 5_000]), most_offsets=st.sampled_from([3, 10, 1_000])
)
@settings(max_examples=examples(60))
def test_compacted_log_is_the_latest_record_of_every_key(
    steps: list[object], lag_ms: int, most_offsets: int
) -> None:
    with (
        tempfile.TemporaryDirectory() as root,
        patch.object(compaction, "MOST_OFFSETS", most_offsets),
    ):
        table = Table(Path(root), replace(SETTINGS, min_compaction_lag_ms=lag_ms))
        for step in steps:
            if step == "wait":
                table.clock.advance(seconds=40)
            elif step in ("compact", "meanwhile"):
                if table.compact(meanwhile=step == "meanwhile"):
                    table.check_clean()
            else:
                table.put(*step)  # type: ignore[misc]
        table.check(table.log)
        recovered = table.opened(Path(root))
        assert recovered.damage == []
        assert recovered.next_offset == table.log.next_offset
        table.check(recovered)
        table.check_retries(recovered)


@pytest.mark.parametrize("most_offsets", [1, 7])
def test_a_pass_over_very_many_records_goes_only_as_far_as_its_memory(
    tmp_path: Path, most_offsets: int
) -> None:
    table = filled(tmp_path)
    remembered: list[int] = []
    remember = cleaner._latest_offsets

    def counted(*arguments: Any) -> dict[bytes, int]:
        latest = remember(*arguments)
        remembered.append(len(latest))
        return latest

    passes = []
    with (
        patch.object(compaction, "MOST_OFFSETS", most_offsets),
        patch.object(cleaner, "_latest_offsets", counted),
    ):
        while table.compact():
            passes.append(table.log.state.cleaned_to)
            table.check_clean()
            table.check(table.log)
            table.clock.advance(seconds=40)
    assert passes[:3] == [most_offsets, 2 * most_offsets, 3 * most_offsets]
    assert passes[-1] == table.log.segments[-1].base_offset
    assert max(remembered) <= most_offsets


def filled(root: Path, seed: int = 1) -> Table:
    random = Random(seed)
    table = Table(root)
    for each in range(40):
        key = f"key-{random.randrange(8)}".encode()
        value = None if random.random() < 0.2 else f"{each}".encode() * random.randint(1, 9)
        table.put(random.randrange(3), each % 5, [(key, value)])
    return table


@pytest.mark.parametrize("seed", range(2))
def test_compaction_interrupted_at_any_step_loses_no_key(tmp_path: Path, seed: int) -> None:
    (tmp_path / "table").mkdir()
    table = filled(tmp_path / "table", seed)
    table.compact()
    table.clock.advance(seconds=100)
    for each in range(20):
        table.put(each % 3, 0, [(f"key-{each % 5}".encode(), str(each).encode())])
    start = len(table.disk.recording)
    assert table.compact(meanwhile=False)
    random = Random(seed)
    for at in range(start, len(table.disk.recording) + 1):
        surely = nothing_unsynced if at % 2 else everything
        for which, survival in enumerate((surely, at_random(random))):
            left = tmp_path / f"{at}-{which}"
            table.disk.recording.leave(at, left, survival)
            log = table.opened(left)
            assert log.damage == []
            assert log.next_offset == table.log.next_offset
            table.check(log)
            table.check_retries(log)


def test_producer_is_known_from_its_last_batch_alone(tmp_path: Path) -> None:
    """Its records are outdated and the snapshots are lost: its batch stays, empty, for its sequence."""
    table = Table(tmp_path)
    for producer in range(4):
        table.put(producer, 0, [(b"key", b"value" * 10)])
    for each in range(20):
        table.put(9, 0, [(b"key", str(each).encode() * 20)])
    assert table.compact()
    for snapshot in table.log.directory.glob("*.snapshot"):
        snapshot.unlink()

    table.check_retries(table.opened(tmp_path))


def test_records_younger_than_the_lag_are_not_touched(tmp_path: Path) -> None:
    table = Table(tmp_path, replace(SETTINGS, min_compaction_lag_ms=3_600_000))
    for each in range(40):
        table.put(0, 0, [(b"key", str(each).encode() * 10)])

    assert not table.compact()
    assert len(read_all(table.log)) == 40

    table.clock.advance(seconds=3_600)
    assert table.compact()
    assert len(read_all(table.log)) < 40


def test_records_of_the_future_hold_up_nothing_where_there_is_no_lag(tmp_path: Path) -> None:
    table = Table(tmp_path)
    for _ in range(20):
        table.put(0, 0, [(b"a", bytes(40))])
    table.clock.jump_to(table.clock.now_ms() - 3_600_000)

    assert table.compact()
    table.check_clean()


def test_tombstone_stays_for_its_time_and_goes_afterwards(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.put(0, 0, [(b"gone", b"value")])
    table.put(0, 0, [(b"gone", None)])
    for each in range(20):
        table.put(0, 0, [(b"other", str(each).encode() * 20)])
    table.compact()
    assert (b"gone", None) in [(each.key, each.value) for each in read_all(table.log)]

    table.clock.advance(seconds=61)
    for each in range(20):
        table.put(0, 0, [(b"other", str(each).encode() * 20)])
    table.compact()

    assert b"gone" not in [each.key for each in read_all(table.log)]
    table.check(table.log)


def test_damaged_batch_is_never_cleaned_away(tmp_path: Path) -> None:
    table = filled(tmp_path)
    victim = table.log.segments[1]
    data = bytearray(victim.path.read_bytes())
    data[70] ^= 1
    victim.path.write_bytes(data)

    plan = compaction.plan(table.log, table.clock.now_ms())[0]
    with pytest.raises(Corruption):
        clean(plan.job, table.disk)

    assert victim.path.read_bytes() == data


def test_left_over_result_of_a_failed_attempt_never_replaces_newer_segments(tmp_path: Path) -> None:
    """A swap file that a first attempt left behind, then a larger compaction, then a crash."""
    table = filled(tmp_path)
    plan = compaction.plan(table.log, table.clock.now_ms())[0]
    stale = compaction.Exchange.of(table.log, plan, clean(plan.job, table.disk))
    stale.commit()
    for each in range(10):
        table.put(0, 0, [(f"new-{each}".encode(), b"value" * 10)])
    table.settings = replace(SETTINGS, segment_bytes=4_000)
    table.log.settings = table.settings
    assert table.compact()

    table.check(table.opened(tmp_path))


def test_swap_left_by_a_clean_stop_is_finished_at_the_next_start(tmp_path: Path) -> None:
    table = filled(tmp_path)
    plan = compaction.plan(table.log, table.clock.now_ms())[0]
    compaction.mark_sparse(table.log, [plan])
    table.log.write_state()
    compaction.Exchange.of(table.log, plan, clean(plan.job, table.disk)).commit()
    summary = table.log.close()

    log = PartitionLog.open(
        table.disk, table.log.directory, table.settings, table.clock, summary=summary
    )

    assert not list(log.directory.glob("*.swap"))
    table.check(log)


def test_readers_of_old_segments_go_on_while_they_are_replaced(tmp_path: Path) -> None:
    table = filled(tmp_path)
    reading = read_batches(table.log)
    before = [next(reading)[0].base_offset for _ in range(3)]
    table.compact()
    after = [header.base_offset for header, _ in reading]

    assert before + after == sorted(set(before + after))
    table.check(table.log)


def test_a_cleaner_makes_no_segment_in_the_log_of_a_topic_made_anew(tmp_path: Path) -> None:
    """It opens sealed segments one after the other, by names that may be another topic's by then."""
    directory = tmp_path / "table-0"
    disk = LocalDisk()
    old = PartitionLog.open(disk, directory, SETTINGS, SettableClock())
    for number in range(100):
        old.append_own([(b"%d" % number, bytes(100))])
    old.sync()
    job = compaction.plan(old, old.clock.now_ms())[0].job
    batches = cleaner._batches(disk, directory, job.dirty)
    next(batches)
    old.abandon()
    directory.rename(tmp_path / "deleted")
    new = PartitionLog.open(disk, directory, SETTINGS, SettableClock())
    new.append_own([(b"k", b"v")])
    new.sync()

    with pytest.raises(Corruption, match="is missing"):
        list(batches)
    assert [each.name for each in directory.glob("*.log")] == ["00000000000000000000.log"]


class OvertakenDisk(LocalDisk):
    """A disk on which a topic is deleted and made anew at the end of a compaction."""

    is_overtaken = False

    def sync_directory(self, path: Path) -> None:
        super().sync_directory(path)
        if self.is_overtaken:
            path.rename(path.with_name("deleted"))
            path.mkdir()


def test_a_replacement_makes_no_file_in_the_log_of_a_topic_made_anew(tmp_path: Path) -> None:
    disk = OvertakenDisk()
    log = PartitionLog.open(disk, tmp_path / "table-0", SETTINGS, SettableClock())
    for number in range(100):
        log.append_own([(b"%d" % number, bytes(100))])
    log.sync()
    plan = compaction.plan(log, log.clock.now_ms())[0]
    exchange = compaction.Exchange.of(log, plan, clean(plan.job, disk))
    disk.is_overtaken = True

    with pytest.raises(FileNotFoundError):
        exchange.commit()
    assert list(log.directory.iterdir()) == []


def test_segment_that_cannot_be_put_in_place_is_not_taken_for_the_one_it_replaces(
    tmp_path: Path,
) -> None:
    table = Table(tmp_path)
    table.disk = disk = FaultyDisk()  # type: ignore[assignment]
    table.log = table.opened(tmp_path)
    for each in b"ababababcdefghijklm":
        table.put(0, 0, [(bytes([each]), b"1")])
    disk.inject(Fault("sync_directory", errno.EIO, "table-0", skip=1, times=1))
    with pytest.raises(StorageFailed, match="stopped after a disk error"):
        table.compact()

    assert not table.compact(), "nobody knows which file has the name"
    table.check(table.log)
    table.check(PartitionLog.open(LocalDisk(), table.log.directory, SETTINGS, table.clock))
