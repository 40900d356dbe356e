"""Compaction of a log with transactions: aborted records go, committed ones stay, none changes sides."""

import json
import subprocess
import sys
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.log import compaction
from headwater.log.cleaner import Cleaned, clean
from headwater.log.partition import PartitionLog
from headwater.log.settings import LogSettings
from headwater.testing import SettableClock
from headwater.testing.power_cut import RecordingDisk
from log.batches import KeyValue, batch, read_batches
from log.transactions import NEW, OLD, Model, Writer, committed_records
from rigs.effort import examples

SETTINGS = LogSettings(
    segment_bytes=600,
    is_compacted=True,
    is_deleted=False,
    delete_retention_ms=10_000,
    min_cleanable_dirty_ratio=0.01,
)


@dataclass
class Table:
    """A compacted log, its producers and the model of it."""

    root: Path
    settings: LogSettings = SETTINGS
    clock: SettableClock = field(default_factory=SettableClock)
    model: Model = field(default_factory=Model)
    begun: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.log = self.opened()

    def opened(self) -> PartitionLog:
        disk = RecordingDisk(self.root)
        return PartitionLog.open(disk, self.root / "table-0", self.settings, self.clock)

    def writer(self, producer_id: int, version: int = NEW) -> Writer:
        return Writer(self.log, producer_id, version)

    def put(self, *records: KeyValue) -> None:
        self.clock.advance(seconds=1)
        for offset, record in enumerate(records, self.log.next_offset):
            self.model.records[offset] = record
        self.log.append(batch(records, time_ms=self.clock.now_ms()))
        self.log.sync()

    def send(self, writer: Writer, *records: KeyValue) -> None:
        self.clock.advance(seconds=1)
        first = writer.send(*records)
        self.begun.setdefault(writer.producer_id, first)
        for offset, record in enumerate(records, first):
            self.model.records[offset] = record
            self.model.transactions[offset] = self.begun[writer.producer_id]
        self.log.sync()

    def end(self, writer: Writer, *, is_commit: bool) -> None:
        self.clock.advance(seconds=1)
        marker = writer.end(is_commit=is_commit)
        if writer.producer_id in self.begun:
            self.model.ends[self.begun.pop(writer.producer_id)] = (marker, is_commit)
        self.log.sync()

    def fill(self) -> None:
        """Write until what came before is sealed."""
        for each in range(8):
            self.put((b"filler %d" % (each % 2), b"x" * 100))

    def compact(self) -> bool:
        """As the broker does it; returns whether there was anything to do."""
        plans = compaction.plan(self.log, self.clock.now_ms())
        if not plans:
            return False
        compaction.mark_sparse(self.log, plans)
        self.log.write_state()
        cleaned: Cleaned | None = None
        for plan in plans:
            cleaned = clean(plan.job_after(cleaned), self.log.disk)
            exchange = compaction.Exchange.of(self.log, plan, cleaned)
            segment = exchange.commit()
            assert exchange.install(segment)
            exchange.finish(segment)
        compaction.mark_clean(self.log, plans)
        self.log.write_state()
        return True

    def check(self) -> None:
        """What a reader sees is committed, at its offset, and the last of each key is there."""
        stable = self.log.last_stable_offset
        assert stable == self.model.last_stable_offset(self.log.high_watermark)
        committed = self.model.committed(0, stable)
        found = {each.offset: (each.key, each.value) for each in committed_records(self.log)}
        for offset, record in found.items():
            assert committed.get(offset) == record, f"offset {offset} is not committed"
        last = {key: offset for offset, (key, _) in committed.items()}
        for key, offset in last.items():
            assert offset in found or committed[offset][1] is None, f"{key!r} is lost"

    def markers(self) -> list[int]:
        return [header.base_offset for header, _ in read_batches(self.log) if header.is_control]

    def values(self) -> set[bytes | None]:
        return {each.value for _, records in read_batches(self.log) for each in records}


@pytest.mark.parametrize("version", [OLD, NEW])
def test_aborted_records_go_and_outdate_nothing(tmp_path: Path, version: int) -> None:
    table = Table(tmp_path)
    writer = table.writer(1, version)
    table.put((b"a", b"kept"))
    table.send(writer, (b"a", b"aborted"), (b"b", b"aborted"))
    table.end(writer, is_commit=False)
    table.fill()

    assert table.compact()

    assert b"aborted" not in table.values()
    assert b"kept" in table.values()
    table.check()


def test_records_aborted_by_a_marker_in_the_active_segment_go(tmp_path: Path) -> None:
    table = Table(tmp_path)
    writer = table.writer(1)
    table.send(writer, (b"a", b"aborted"))
    table.fill()
    table.end(writer, is_commit=False)

    assert table.compact()

    assert b"aborted" not in table.values()
    table.check()


def test_open_transaction_is_not_passed(tmp_path: Path) -> None:
    table = Table(tmp_path)
    table.put((b"a", b"1"))
    table.fill()
    writer = table.writer(1)
    table.send(writer, (b"a", b"open"))
    for _ in range(3):
        table.fill()
    before = [header for header, _ in read_batches(table.log, table.log.last_stable_offset)]

    table.compact()

    after = [header for header, _ in read_batches(table.log, table.log.last_stable_offset)]
    assert after == before
    table.end(writer, is_commit=True)
    table.fill()
    table.compact()
    table.check()
    assert b"open" in table.values()


@pytest.mark.parametrize("is_commit", [True, False])
def test_markers_go_after_their_records_and_their_time(tmp_path: Path, is_commit: bool) -> None:
    table = Table(tmp_path)
    writer, next_writer = table.writer(1), table.writer(2)
    table.send(writer, (b"a", b"1"))
    table.end(writer, is_commit=is_commit)
    (marker,) = table.markers()
    table.put((b"a", b"2"))
    # The last that is known of a producer stays: let there be something newer of it.
    table.send(writer, (b"b", b"1"))
    table.end(writer, is_commit=True)
    table.fill()
    seen = []
    for _ in range(6):
        table.send(next_writer, (b"z", b"1"))
        table.end(next_writer, is_commit=True)
        table.fill()
        table.compact()
        seen.append(marker in table.markers())
        table.check()
        again = table.opened()
        assert dict(again.producers.transactions) == {}
        assert again.last_stable_offset == table.log.last_stable_offset
        table.clock.advance(seconds=20)

    assert seen[0], "readers have had no time to see it"
    assert not seen[-1]


def test_marker_that_is_gone_hides_no_later_records_of_its_producer(tmp_path: Path) -> None:
    """A reader that is told of an aborted transaction skips its producer until it meets the marker."""
    table = Table(tmp_path, replace(SETTINGS, segment_bytes=900))
    writer = table.writer(1, OLD)
    table.put((b"read first", b"1"))
    table.send(writer, (b"a", b"aborted"))
    table.end(writer, is_commit=False)
    (aborted,) = table.markers()
    table.send(writer, (b"b", b"committed"))
    table.end(writer, is_commit=True)
    while aborted in table.markers():
        table.fill()
        table.clock.advance(seconds=20)
        table.compact()
        table.check()

    assert b"committed" in {each.value for each in committed_records(table.log)}
    table.log = table.opened()
    assert b"committed" in {each.value for each in committed_records(table.log)}


def test_compacted_segment_still_tells_where_readers_need_look_no_further(tmp_path: Path) -> None:
    """Otherwise a read_committed answer asks every later segment for aborted transactions."""
    table = Table(tmp_path)
    writer = table.writer(1)
    for is_commit in (True, False):
        table.send(writer, (b"a", b"1"))
        table.end(writer, is_commit=is_commit)
    for _ in range(2):
        table.fill()

    assert table.compact()

    for log in (table.log, table.opened()):
        for each in log.segments[:-1]:
            assert each.aborted_index().stable_to == each.next_offset


def test_last_marker_of_a_producer_stays_so_that_it_stays_fenced(tmp_path: Path) -> None:
    table = Table(tmp_path)
    writer = table.writer(1)
    table.send(writer, (b"a", b"1"))
    table.end(writer, is_commit=False)
    for _ in range(6):
        table.fill()
        table.compact()
        table.clock.advance(seconds=20)

    for path in table.log.directory.glob("*.snapshot"):
        path.unlink()
    again = table.opened()

    assert dict(again.producers)[1].epoch == 1
    assert dict(again.producers.transactions) == {}


def test_transaction_over_two_rewritten_groups_keeps_its_marker(tmp_path: Path) -> None:
    """Segments are rewritten group by group; the marker may be in another one than the records."""
    table = Table(tmp_path, replace(SETTINGS, segment_bytes=400))
    writer = table.writer(1, OLD)  # Since version 2 its last marker would stay anyway.
    table.send(writer, (b"only here", b"1"))
    for each in range(10):
        table.put((b"between %d" % each, b"x" * 100))
    table.end(writer, is_commit=True)
    for _ in range(5):
        table.fill()
        table.clock.advance(seconds=20)
        table.compact()
        table.check()
        for path in table.log.directory.glob("*.snapshot"):
            path.unlink()
        assert dict(table.opened().producers.transactions) == {}, "a transaction is open again"


@settings(max_examples=examples(40))
@given(st.integers(0, 2**32))
def test_compaction_changes_nothing_for_readers(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    random = Random(seed)
    table = Table(tmp_path_factory.mktemp("table"))
    writers = [table.writer(each, random.choice([OLD, NEW])) for each in range(3)]

    def records() -> list[KeyValue]:
        return [
            (b"key %d" % random.randrange(6), random.choice([None, random.randbytes(20)]))
            for _ in range(random.randint(1, 3))
        ]

    for _ in range(random.randint(10, 90)):
        writer = random.choice(writers)
        chance = random.random()
        if chance < 0.2:
            table.put(*records())
        elif chance < 0.6:
            table.send(writer, *records())
        elif chance < 0.85:
            table.end(writer, is_commit=random.random() < 0.5)
        elif chance < 0.97:
            table.compact()
            table.clock.advance(seconds=random.choice([1, 20]))
        else:
            table.log.close()
            table.log = table.opened()
            for each in writers:
                each.log = table.log
        table.check()


def test_job_in_a_process_of_its_own_does_the_same(tmp_path: Path) -> None:
    table = Table(tmp_path)
    writer = table.writer(1)
    for each in range(3):
        table.send(writer, (b"a", b"%d" % each))
        table.end(writer, is_commit=each != 1)
    table.fill()
    (plan, *_) = compaction.plan(table.log, table.clock.now_ms())
    here = clean(plan.job, table.log.disk)
    expected = (table.log.directory / here.name).read_bytes()

    done = subprocess.run(
        [sys.executable, "-m", "headwater.log.cleaner"],
        input=json.dumps(asdict(plan.job)),
        capture_output=True,
        text=True,
        check=True,
    )

    assert Cleaned(**json.loads(done.stdout)) == here
    assert (table.log.directory / here.name).read_bytes() == expected
