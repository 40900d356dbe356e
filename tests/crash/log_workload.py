"""A random life of one log, and what its clients were told at each moment of it."""

from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from headwater.errors import OutOfOrderSequence
from headwater.log import compaction, retention
from headwater.log.cleaner import clean
from headwater.log.partition import PartitionLog
from headwater.log.removal import Removal
from headwater.log.settings import LogSettings
from headwater.testing import SettableClock
from headwater.testing.power_cut import RecordingDisk
from log.batches import KeyValue, Sender, batch, read_all

PRODUCERS = 3
IN_FLIGHT = 4
"""Batches a producer has open at most; with one whose answer was lost, as many as the log remembers."""
DELETED = LogSettings(segment_bytes=900, retention_bytes=6000)
COMPACTED = LogSettings(
    segment_bytes=900, is_compacted=True, is_deleted=False, delete_retention_ms=1000
)
DIRECTORY = "orders-0"


@dataclass(frozen=True, slots=True)
class Sent:
    """One batch of one producer; its offset once it was appended."""

    sender: Sender
    records: tuple[KeyValue, ...]
    codec: int
    time_ms: int
    offset: int = -1

    def encoded(self) -> memoryview:
        return batch(self.records, self.sender, codec=self.codec, time_ms=self.time_ms)


@dataclass(frozen=True, slots=True)
class Acked:
    """The producer was told that this batch is stored."""

    sent: Sent


@dataclass(frozen=True, slots=True)
class Seen:
    """A reader could see everything below this offset."""

    high_watermark: int


@dataclass(frozen=True, slots=True)
class Start:
    """The log start was moved: asked for, or done."""

    offset: int
    is_done: bool


@dataclass
class LogWorkload:
    """Drives one log by chance; every promise it makes is marked in the disk's recording."""

    root: Path
    settings: LogSettings
    random: Random
    clock: SettableClock = field(default_factory=SettableClock)
    sent: list[Sent] = field(default_factory=list)
    history: dict[int, KeyValue] = field(default_factory=dict)

    def run(self, steps: int) -> RecordingDisk:
        self.disk = RecordingDisk(self.root)
        self.log = self.reopened(self.disk, self.root)
        self._unacked: list[Sent] = []
        self._sequences = dict.fromkeys(range(PRODUCERS), 0)
        ways = [self._append] * 8 + [self._sync] * 4 + [self._sync_while_appending, self._retry]
        ways += [self._compact] * 2 if self.settings.is_compacted else [self._trim, self._expire]
        ways += [self._reopen]
        for _ in range(steps):
            self.random.choice(ways)()
        self._sync()
        return self.disk

    def reopened(self, disk: RecordingDisk, root: Path) -> PartitionLog:
        return PartitionLog.open(disk, root / DIRECTORY, self.settings, self.clock)

    def _append(self) -> None:
        self.clock.advance(seconds=0.1)
        producer = self.random.randrange(PRODUCERS)
        if sum(each.sender.producer_id == producer for each in self._unacked) == IN_FLIGHT:
            return
        sequence = self._sequences[producer]
        count = self.random.randint(1, 4)
        records = tuple(self._record(producer, sequence + each) for each in range(count))
        codec = self.random.randrange(5)
        sent = Sent(Sender(producer, 0, sequence), records, codec, self.clock.now_ms())
        appended = self.log.append(sent.encoded())
        assert not appended.is_duplicate
        self._sequences[producer] += count
        for each, record in enumerate(records):
            assert appended.base_offset + each not in self.history, "an offset was given twice"
            self.history[appended.base_offset + each] = record
        self.sent.append(replace(sent, offset=appended.base_offset))
        self._unacked.append(self.sent[-1])
        self.disk.recording.mark(Seen(self.log.high_watermark))

    def _record(self, producer: int, sequence: int) -> KeyValue:
        value = f"{producer}:{sequence}:".encode().ljust(self.random.randint(8, 60), b".")
        key = f"key-{self.random.randrange(12)}".encode()
        is_tombstone = self.settings.is_compacted and self.random.random() < 0.15
        return (key, None if is_tombstone else value)

    def _retry(self) -> None:
        """A producer sends one of its last five batches again."""
        sent = self.random.choice(self.sent) if self.sent else None
        if sent is None:
            return
        last = [each for each in self.sent if each.sender.producer_id == sent.sender.producer_id]
        again = self.random.choice(last[-5:])
        appended = self.log.append(again.encoded())
        assert (appended.is_duplicate, appended.base_offset) == (True, again.offset)

    def _sync(self) -> None:
        self.log.sync()
        self._promise(self._unacked)
        self._unacked = []

    def _sync_while_appending(self) -> None:
        covered = list(self._unacked)
        job = self.log.begin_sync()
        self._append()
        if job is not None:
            job.run()
            self.log.finish_sync(job)
        self._promise(covered)
        self._unacked = self._unacked[len(covered) :]

    def _promise(self, acked: list[Sent]) -> None:
        for each in acked:
            self.disk.recording.mark(Acked(each))
        self.disk.recording.mark(Seen(self.log.high_watermark))

    def _trim(self) -> None:
        if self.random.random() < 0.5:
            low, high = self.log.log_start_offset, self.log.high_watermark
            self._remove(self.log.advance_start(self.random.randint(low, high)))

    def _expire(self) -> None:
        removal = retention.expire(self.log, self.clock.now_ms())
        if removal is not None:
            self._remove(removal)

    def _remove(self, removal: Removal) -> None:
        start = self.log.log_start_offset
        self.disk.recording.mark(Start(start, is_done=False))
        removal.run()
        self.disk.recording.mark(Start(start, is_done=True))

    def _compact(self) -> None:
        plans = compaction.plan(self.log, self.clock.now_ms())
        if plans:
            compaction.mark_sparse(self.log, plans)
            self.log.write_state()
        for plan in plans:
            cleaned = clean(plan.job, self.disk)
            exchange = compaction.Exchange.of(self.log, plan, cleaned)
            self._append()
            segment = exchange.commit()
            assert exchange.install(segment)
            self._sync()
            exchange.finish(segment)
        if plans:
            compaction.mark_clean(self.log, plans)
            self.log.write_state()

    def _reopen(self) -> None:
        """A clean shutdown and a start, by the summary or by looking at the files."""
        if self.random.random() < 0.3:
            summary = self.log.close()
            self._promise(self._unacked)
            self._unacked = []
            self.log = PartitionLog.open(
                self.disk,
                self.root / DIRECTORY,
                self.settings,
                self.clock,
                summary=summary if self.random.random() < 0.7 else None,
            )
            assert not self.log.damage


@dataclass(slots=True)
class Verdict:
    """How many acknowledged records were looked for, after one cut."""

    acknowledged: int = 0


def check_survivor(log: PartitionLog, marks: list[object], life: LogWorkload) -> Verdict:
    """Assert every promise that was made before the cut."""
    seen = max((each.high_watermark for each in marks if isinstance(each, Seen)), default=0)
    starts = [each for each in marks if isinstance(each, Start)]
    least = max((each.offset for each in starts if each.is_done), default=0)
    most = max((each.offset for each in starts), default=0)
    assert log.damage == [], f"a power cut was taken for damage: {log.damage[0]}"
    assert log.failure is None
    assert log.high_watermark == log.next_offset
    assert log.high_watermark >= seen, "a reader saw records that are gone"
    assert least <= log.log_start_offset <= most, "the log start moved on its own"
    records = read_all(log)
    offsets = [each.offset for each in records]
    assert offsets == sorted(set(offsets)), "an offset is there twice, or out of order"
    for each in records:
        assert (each.key, each.value) == life.history[each.offset], "another record stands there"
    if life.settings.is_compacted:
        _check_compacted(log, offsets, life)
    else:
        assert offsets == list(range(log.log_start_offset, log.next_offset)), "a gap"
    acked = [each.sent for each in marks if isinstance(each, Acked)]
    return Verdict(sum(len(each.records) for each in acked))


def _check_compacted(log: PartitionLog, offsets: list[int], life: LogWorkload) -> None:
    """The last record of each key is there, unless it is a tombstone that has had its time."""
    last = {key: at for at, (key, _) in life.history.items() if at < log.next_offset}
    for offset in last.values():
        is_tombstone = life.history[offset][1] is None
        assert offset in offsets or is_tombstone, f"offset {offset} is lost"


def check_retries(log: PartitionLog, marks: list[object], life: LogWorkload) -> None:
    """Every producer sends again what it may have lost: all is there once, in its order."""
    acked = {id(each.sent): None for each in marks if isinstance(each, Acked)}
    for producer in range(PRODUCERS):
        mine = [each for each in life.sent if each.sender.producer_id == producer]
        unacked = [each for each in mine if id(each) not in acked]
        last_acked = [each for each in mine if id(each) in acked][-1:]
        for each in last_acked:
            appended = log.append(each.encoded())
            assert appended.is_duplicate, "an acknowledged batch was stored twice"
            assert appended.base_offset == each.offset
        try:
            for each in unacked[: IN_FLIGHT + 1]:
                log.append(each.encoded())
        except OutOfOrderSequence as error:
            raise AssertionError("a producer cannot go on after the crash") from error
    log.sync()
    if not life.settings.is_compacted:
        _check_once_and_in_order(log)


def _check_once_and_in_order(log: PartitionLog) -> None:
    positions: dict[int, list[int]] = {producer: [] for producer in range(PRODUCERS)}
    for each in read_all(log):
        producer, sequence = (each.value or b"").split(b":")[:2]
        positions[int(producer)].append(int(sequence))
    for found in positions.values():
        assert found == sorted(set(found)), "a producer's records are doubled or out of order"
