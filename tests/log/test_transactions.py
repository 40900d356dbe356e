"""Transactions in a log: nothing open or aborted is read as committed, whatever happens to the files."""

import errno
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.errors import (
    CoordinatorFenced,
    Corruption,
    Fenced,
    InvalidTransaction,
    OutsideTransaction,
)
from headwater.log import retention
from headwater.log.aborted import AbortedIndex
from headwater.log.batch_file import NotCached
from headwater.log.partition import PartitionLog
from headwater.log.recovery import Summary
from headwater.log.settings import LogSettings
from headwater.log.verify import verify
from headwater.testing import SettableClock
from headwater.testing.disk import Fault, FaultyDisk
from headwater.testing.power_cut import RecordingDisk
from headwater.wire.record_batch import ProducerIdAndEpoch
from log.batches import NOW_MS, KeyValue, Sender, batch, values
from log.transactions import NEW, OLD, Model, Writer, committed_records
from rigs.effort import examples

SETTINGS = LogSettings(segment_bytes=500)
WIDE = LogSettings()


def opened(
    root: Path, settings: LogSettings = SETTINGS, summary: Summary | None = None
) -> PartitionLog:
    clock = SettableClock(NOW_MS)
    return PartitionLog.open(RecordingDisk(root), root / "t-0", settings, clock, summary=summary)


@pytest.fixture
def log(tmp_path: Path) -> PartitionLog:
    return opened(tmp_path, WIDE)


def seen(log: PartitionLog) -> list[bytes | None]:
    return [each.value for each in committed_records(log)]


def plain(log: PartitionLog, value: str) -> None:
    log.append(batch(values(value)))


def test_open_transaction_holds_the_last_stable_offset(log: PartitionLog) -> None:
    plain(log, "before")
    writer = Writer(log, 1)
    writer.send(*values("open"))
    plain(log, "after")
    log.sync()
    assert (log.last_stable_offset, log.high_watermark) == (1, 3)
    assert seen(log) == [b"before"]

    writer.commit()
    log.sync()

    assert seen(log) == [b"before", b"open", b"after"]


def test_marker_that_is_not_synced_ends_nothing_for_readers(log: PartitionLog) -> None:
    writer = Writer(log, 1)
    writer.send(*values("a"))
    log.sync()
    writer.abort()
    job = log.begin_sync()
    assert job is not None

    assert log.last_stable_offset == 0
    job.run()
    log.finish_sync(job)
    assert log.last_stable_offset == log.high_watermark == 2


def test_first_of_several_open_transactions_counts(log: PartitionLog) -> None:
    writers = [Writer(log, each) for each in range(3)]
    for each in writers:
        each.send(*values("x"))
    log.sync()

    ends = []
    for each in (writers[1], writers[0], writers[2]):
        each.commit()
        log.sync()
        ends.append(log.last_stable_offset)

    assert ends == [0, 2, 6]


def test_only_transactions_in_the_answer_are_listed(log: PartitionLog) -> None:
    writer = Writer(log, 1)
    for _ in range(4):
        writer.send(*values("a"))
        writer.abort()
        plain(log, "b")
    log.sync()
    limit = log.last_stable_offset

    one = len(batch(values("a")))
    for offset in range(12):
        chunk = log.read(offset, one, limit)
        (entry,) = [*log.aborted_in(chunk, limit), None][:1]
        expected = offset // 3 * 3 if offset % 3 != 2 else None
        assert (entry.first_offset if entry is not None else None) == expected


@pytest.mark.parametrize("version", [OLD, NEW])
def test_transaction_over_many_segments_is_left_out_of_all(tmp_path: Path, version: int) -> None:
    log = opened(tmp_path)
    writer, other = Writer(log, 1, version), Writer(log, 2, version)
    for each in range(20):
        writer.send(*values(f"never {each}"))
        other.send(*values(f"good {each}"))
        other.commit()
    log.sync()
    assert seen(log) == []
    writer.abort()
    log.sync()

    assert len(log.segments) > 5
    assert seen(log) == [f"good {each}".encode() for each in range(20)]


def test_delayed_marker_cannot_end_a_later_transaction(log: PartitionLog) -> None:
    writer = Writer(log, 1, NEW)
    writer.send(*values("a"))
    writer.commit()
    writer.send(*values("b"))

    with pytest.raises(Fenced):
        log.end_transaction(
            ProducerIdAndEpoch(1, writer.epoch),
            is_commit=False,
            coordinator_epoch=0,
            transaction_version=NEW,
        )
    writer.commit()
    log.sync()
    assert seen(log) == [b"a", b"b"]


def test_marker_written_twice_ends_the_transaction_once(log: PartitionLog) -> None:
    """As after a restart of the coordinator, which cannot know whether it has written it."""
    for version in (OLD, NEW):
        writer = Writer(log, version, version)
        writer.send(*values("a"))
        writer.abort()
        again = ProducerIdAndEpoch(version, writer.epoch)
        log.end_transaction(
            again, is_commit=False, coordinator_epoch=0, transaction_version=version
        )
    log.sync()

    assert seen(log) == []
    entries = log.active.aborted_index().entries
    assert [(each.producer_id, each.first_offset) for each in entries] == [(0, 0), (2, 3)]


def test_marker_is_written_however_small_batches_must_be(log: PartitionLog) -> None:
    writer = Writer(log, 1)
    writer.send(*values("a"))
    log.settings = replace(log.settings, max_message_bytes=1)
    writer.commit()
    log.sync()

    assert seen(log) == [b"a"]


def test_marker_of_an_old_coordinator_is_refused(log: PartitionLog) -> None:
    writer = Writer(log, 1)
    writer.send(*values("a"))
    writer.end(is_commit=True, coordinator_epoch=3)

    with pytest.raises(CoordinatorFenced):
        writer.end(is_commit=True, coordinator_epoch=2)


def test_transactional_batch_needs_somebody_to_vouch_for_it(log: PartitionLog) -> None:
    sent = batch(values("a"), Sender(1, 0, 0), is_transactional=True)

    with pytest.raises(OutsideTransaction):
        log.append(sent)
    assert log.next_offset == 0


def test_plain_batch_does_not_slip_into_an_open_transaction(log: PartitionLog) -> None:
    writer = Writer(log, 1)
    writer.send(*values("a"))

    with pytest.raises(InvalidTransaction):
        log.append(batch(values("b"), Sender(1, 0, 1)))


def test_producer_with_an_open_transaction_is_not_forgotten(log: PartitionLog) -> None:
    Writer(log, 1).send(*values("a"))
    done = Writer(log, 2)
    done.send(*values("b"))
    done.commit()

    log.producers.expire(before_s=log.clock.monotonic_s() + 1)

    assert [producer_id for producer_id, _ in log.producers] == [1]


@pytest.mark.parametrize("way", ["trusted", "looked at", "without snapshots", "without indexes"])
def test_transactions_are_the_same_after_a_restart(tmp_path: Path, way: str) -> None:
    log = opened(tmp_path)
    aborted, unfinished = Writer(log, 1), Writer(log, 2)
    for each in range(10):
        aborted.send(*values(f"never {each}"))
        if each == 4:
            unfinished.send(*values("open"))
        aborted.end(is_commit=each % 3 == 0)
    log.sync()
    before = (log.last_stable_offset, seen(log), dict(log.producers.transactions))
    summary = log.close()
    if way.startswith("without"):
        pattern = {"without snapshots": "*.snapshot", "without indexes": "*.*index"}[way]
        for each in log.directory.glob(pattern):
            each.unlink()

    again = opened(tmp_path, summary=summary if way == "trusted" else None)

    assert (again.last_stable_offset, seen(again), dict(again.producers.transactions)) == before
    assert not again.damage
    Writer(again, 2).abort()
    again.sync()
    assert again.last_stable_offset == again.high_watermark
    assert b"open" not in seen(again)
    assert b"never 9" in seen(again)


@pytest.mark.parametrize("harm", ["flip", "cut", "stale"])
def test_damaged_index_of_aborted_transactions_is_made_anew(tmp_path: Path, harm: str) -> None:
    log = opened(tmp_path)
    writer = Writer(log, 1)
    for each in range(12):
        writer.send(*values(f"{each}"))
        writer.end(is_commit=each % 2 == 0)
    log.sync()
    before = seen(log)
    log.close()
    for path in log.directory.glob("*.txnindex"):
        data = bytearray(path.read_bytes())
        if harm == "flip":
            data[len(data) // 2] ^= 0x40
        elif harm == "cut":
            del data[-3:]
        else:
            data[:] = AbortedIndex().encode(log_size=1)
        path.write_bytes(data)

    again = opened(tmp_path)

    assert seen(again) == before
    found = verify(again.disk, again.directory)
    assert found.is_sound == (harm == "stale")


@pytest.mark.parametrize("version", [OLD, NEW])
@pytest.mark.parametrize("is_next_ended", [True, False])
def test_transaction_whose_marker_is_damaged_is_never_taken_for_committed(
    tmp_path: Path, version: int, is_next_ended: bool
) -> None:
    log = opened(tmp_path, WIDE)
    writer = Writer(log, 1, version)
    writer.send(*values("aborted"))
    writer.abort()
    marker_at = log.active.size - 5
    writer.send(*values("next"))
    if is_next_ended:
        writer.commit()
    log.sync()
    path = log.active.path
    data = bytearray(path.read_bytes())
    data[marker_at] ^= 1
    path.write_bytes(data)

    again = opened(tmp_path, WIDE)
    if not is_next_ended and version == NEW:
        writer.log = again
        writer.commit()
        again.sync()

    assert again.damage
    assert again.last_stable_offset == 0
    assert seen(again) == []
    if is_next_ended:
        with pytest.raises(Corruption):
            again.refuse_uncertain(0)
        again.refuse_uncertain(again.high_watermark)
        summary = again.close()
        assert opened(tmp_path, WIDE, summary).last_stable_offset == 0


def test_entries_go_with_their_segments(tmp_path: Path) -> None:
    log = opened(tmp_path, replace(SETTINGS, retention_ms=60_000))
    writer = Writer(log, 1)
    for each in range(12):
        writer.send(*values(f"{each}"))
        writer.abort()
        plain(log, f"plain {each}")
    log.sync()
    last = len(log.segments)

    removal = retention.expire(log, NOW_MS + 3_600_000)
    assert removal is not None
    removal.run()

    assert last > 3
    names = {path.name for path in log.directory.glob("*.txnindex")}
    assert names <= {each.aborted_path.name for each in log.segments}
    assert seen(log) == []


def test_retention_waits_for_an_open_transaction(tmp_path: Path) -> None:
    log = opened(tmp_path, replace(SETTINGS, retention_ms=60_000))
    for each in range(12):
        plain(log, f"before {each}")
    writer = Writer(log, 1)
    first = writer.send(*values("open"))
    for each in range(12):
        plain(log, f"after {each}")
    log.sync()

    removal = retention.expire(log, NOW_MS + 3_600_000)
    assert removal is not None
    removal.run()

    assert 0 < log.log_start_offset <= first
    writer.commit()
    log.sync()
    assert b"open" in seen(log)


def test_records_deleted_under_an_open_transaction(tmp_path: Path) -> None:
    log = opened(tmp_path)
    writer = Writer(log, 1)
    writer.send(*values("open"))
    for each in range(12):
        plain(log, f"{each}")
    log.sync()
    log.advance_start(8).run()
    assert log.last_stable_offset == 8
    assert seen(log) == []

    again = opened(tmp_path)
    assert again.last_stable_offset == 8
    Writer(again, 1).abort()
    again.sync()

    assert seen(again) == [f"{each}".encode() for each in range(7, 12)]


def test_reader_on_the_loop_does_not_wait_for_an_index(tmp_path: Path) -> None:
    log = opened(tmp_path)
    writer = Writer(log, 1)
    writer.send(*values("a"))
    writer.abort()
    summary = log.close()
    again = opened(tmp_path, summary=summary)
    chunk = again.read(0, 1000, 2)

    with pytest.raises(NotCached):
        again.aborted_in(chunk, 2, cached=True)
    assert len(again.aborted_in(chunk, 2)) == 1
    assert len(again.aborted_in(chunk, 2, cached=True)) == 1


@settings(max_examples=examples(60))
@given(st.integers(0, 2**32))
def test_readers_see_what_the_model_says(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    """Any number of producers, segments and restarts: exact records, exact last stable offset."""
    life = Life(tmp_path_factory.mktemp("model"), Random(seed))
    for _ in range(life.random.randint(5, 80)):
        life.step()
        stable = life.log.last_stable_offset
        assert stable == life.model.last_stable_offset(life.log.high_watermark)
        found = {each.offset: (each.key, each.value) for each in committed_records(life.log)}
        assert found == life.model.committed(0, stable)


class Life:
    """Producers, syncs and restarts by chance, and the model of them."""

    def __init__(self, root: Path, random: Random) -> None:
        self.root = root
        self.random = random
        self.log = opened(root)
        self.model = Model()
        self.writers = [Writer(self.log, each, random.choice([OLD, NEW])) for each in range(4)]
        self._begun: dict[int, int] = {}
        self._count = 0

    def step(self) -> None:
        writer = self.random.choice(self.writers)
        ways = [self._plain] * 2 + [self._send] * 5 + [self._end] * 3
        self.random.choice(ways)(writer)
        if self.random.random() < 0.3:
            self.log.sync()
        if self.random.random() < 0.1:
            self._restart()

    def _record(self) -> KeyValue:
        self._count += 1
        return None, b"%d" % self._count

    def _plain(self, _: Writer) -> None:
        record = self.model.records[self.log.next_offset] = self._record()
        self.log.append(batch([record]))

    def _send(self, writer: Writer) -> None:
        records = [self._record() for _ in range(self.random.randint(1, 3))]
        first = writer.send(*records, codec=self.random.randrange(5))
        self._begun.setdefault(writer.producer_id, first)
        for offset, record in enumerate(records, first):
            self.model.records[offset] = record
            self.model.transactions[offset] = self._begun[writer.producer_id]

    def _end(self, writer: Writer) -> None:
        is_commit = self.random.random() < 0.5
        marker = writer.end(is_commit=is_commit)
        if writer.producer_id in self._begun:
            self.model.ends[self._begun.pop(writer.producer_id)] = (marker, is_commit)

    def _restart(self) -> None:
        """By the word of a clean shutdown or not, and with or without what can be made anew."""
        summary = self.log.close()
        lost = self.random.choice(["*.txnindex", "*.index", "*.snapshot", "nothing"])
        for path in self.log.directory.glob(lost):
            path.unlink()
        is_trusted = self.random.random() < 0.5
        self.log = opened(self.root, summary=summary if is_trusted else None)
        for each in self.writers:
            each.log = self.log


def test_records_that_were_deleted_hold_up_no_reader_after_a_crash(tmp_path: Path) -> None:
    """The snapshot of the producers is older than the deletion, and still knows of lost markers."""
    log = opened(tmp_path, WIDE)
    Writer(log, 1).send(*values("a", "b"))
    log.sync()
    log.lose_transaction(1)
    plain(log, "c")
    log.roll(NOW_MS)
    plain(log, "d")
    log.sync()
    assert log.last_stable_offset == 0
    log.advance_start(3).run()
    assert log.last_stable_offset == log.high_watermark

    after = opened(tmp_path, WIDE)

    assert after.last_stable_offset == after.high_watermark == log.high_watermark
    assert seen(after) == [b"d"]


def test_first_marker_after_a_clean_stop_does_not_read_the_segment_again(tmp_path: Path) -> None:
    log = opened(tmp_path, WIDE)
    writer = Writer(log, 1)
    writer.send(*values("aborted"))
    writer.abort()
    for number in range(10):
        plain(log, f"{number}")
    summary = log.close()

    disk = FaultyDisk()
    log = PartitionLog.open(disk, tmp_path / "t-0", WIDE, SettableClock(NOW_MS), summary=summary)
    disk.inject(Fault("read", errno.EIO, "*.log", skip=1))  # The time of its first batch is read.
    writer = Writer(log, 2)
    writer.send(*values("aborted, too"))
    writer.abort()
    plain(log, "after")
    log.roll(NOW_MS)
    log.sync()
    disk.heal()

    assert disk.struck == 0
    assert seen(log) == [b"%d" % number for number in range(10)] + [b"after"]
