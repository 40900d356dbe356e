"""One partition: batches in order, in segments on disk.

Invariants: offsets never repeat and never go backwards; a reader sees only what is synced (the high
watermark moves in `finish_sync`); after a failed sync nothing more is written or acknowledged.
Single writer: everything but `read`, `SyncJob.run` and `Removal.run` is called from one thread.
"""

import logging
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from headwater.clock import Clock
from headwater.errors import Corruption, OffsetOutOfRange, OutsideTransaction, StorageFailed
from headwater.log.admission import Admitted, admit, admit_own
from headwater.log.disk import Disk, File, put
from headwater.log.files import LogFiles
from headwater.log.names import snapshot_offsets, snapshot_path
from headwater.log.readable_log import ReadableLog
from headwater.log.recovery import Loaded, Summary, load_trusted, recover
from headwater.log.removal import Removal
from headwater.log.segment import NO_TIMESTAMP, Segment
from headwater.log.settings import LogSettings
from headwater.log.state import STATE_NAME, PartitionState, RecoveryPoint
from headwater.log.sync_job import SyncJob
from headwater.wire.markers import EndMarker, encode_marker
from headwater.wire.record_batch import (
    NOBODY,
    TRANSACTIONAL,
    ProducerIdAndEpoch,
    stamped_head,
)
from headwater.wire.records import encode_batch

logger = logging.getLogger(__name__)

LARGEST_RELATIVE_OFFSET = 2**31 - 1


class Appended(NamedTuple):
    """Where a batch is in the log."""

    base_offset: int
    last_offset: int
    append_time_ms: int
    is_duplicate: bool = False


class PartitionLog(ReadableLog):
    """The log of one partition, open for reading and appending."""

    def __init__(
        self, disk: Disk, directory: Path, settings: LogSettings, clock: Clock, topic_id: str = ""
    ) -> None:
        super().__init__(disk, directory, PartitionState(topic_id=topic_id))
        self.settings = settings
        self.clock = clock
        self._failure: tuple[str, str] | None = None
        self._is_refused = False
        """Whether the disk took no batch since it took the last one."""
        self._dirty: dict[Segment, None] = {}
        self._is_changed = False
        self._new_files: list[File] = []
        self._is_syncing = False
        self._new_directories: dict[Path, None] = {}
        self._unremoved: dict[Segment, None] = {}
        """Segments that are out of the log and whose files may still be there."""
        self._recovery_point: RecoveryPoint | None = None
        self.files = LogFiles()
        self.make_room: Callable[[], None] = _nothing_to_do
        """Called before one more file stays open."""

    @classmethod
    def open(
        cls,
        disk: Disk,
        directory: Path,
        settings: LogSettings,
        clock: Clock,
        *,
        topic_id: str = "",
        summary: Summary | None = None,
    ) -> "PartitionLog":
        """Load what is on disk: by the word of a clean shutdown, else by looking at every file."""
        log = cls(disk, directory, settings, clock, topic_id)
        loaded = load_trusted(disk, directory, summary) if summary is not None else None
        is_trusted = loaded is not None
        if loaded is None:
            loaded = recover(disk, directory, summary)
        log._take(loaded, is_trusted=is_trusted)
        return log

    @property
    def failure(self) -> StorageFailed | None:
        """Why nothing is written any more; a new one each time, or it would gather all their tracebacks."""
        return None if self._failure is None else StorageFailed(*self._failure)

    def lose_transaction(self, producer_id: int) -> None:
        """Nobody knows how the producer's open transaction ended: its marker is damaged."""
        self.producers.transactions.lose(producer_id, self.next_offset)

    def append(self, records: memoryview, *, transaction_version: int | None = None) -> Appended:
        """Check one batch and write it at the end; durable once the next sync has finished.

        A batch that its idempotent producer sent before is not written again: its first offset returns.
        Who passes a `transaction_version` vouches that the coordinator knows of the transaction here.
        """
        self.refuse_if_failed()
        admitted = admit(records, self.settings, self.clock.now_ms())
        header = admitted.header
        if header.is_transactional and transaction_version is None:
            raise OutsideTransaction("a transactional batch comes with a transactional id")
        if header.has_producer and (
            stored := self.producers.check(header, transaction_version or 0)
        ):
            return Appended(
                stored.base_offset, stored.last_offset, admitted.append_time_ms, is_duplicate=True
            )
        return self._write(admitted)

    def append_own(
        self,
        records: Sequence[tuple[bytes | None, bytes | None]],
        producer: ProducerIdAndEpoch = NOBODY,
    ) -> Appended:
        """Write (key, value) pairs of the broker's own, in the transaction of `producer` if it is given."""
        self.refuse_if_failed()
        attributes = 0 if producer == NOBODY else TRANSACTIONAL
        batch = encode_batch(records, self.clock.now_ms(), attributes=attributes, producer=producer)
        admitted = admit_own(batch, self.settings)
        if admitted.header.has_producer:
            self.producers.check(admitted.header)
        return self._write(admitted)

    def end_transaction(
        self,
        producer: ProducerIdAndEpoch,
        *,
        is_commit: bool,
        coordinator_epoch: int,
        transaction_version: int,
    ) -> Appended:
        """Write the marker that commits or aborts what the producer wrote here; durable after a sync.

        Raises `Fenced` if a newer epoch of the producer is known, `CoordinatorFenced` likewise.
        """
        self.refuse_if_failed()
        self.producers.check_end(producer, coordinator_epoch, transaction_version)
        ended = self.producers.transactions.ended_by(producer.id, self.next_offset)
        marker = EndMarker(is_commit, coordinator_epoch, ended)
        batch = encode_marker(marker, producer, self.clock.now_ms())
        return self._write(admit_own(batch), marker)

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing is known of it that its files would not tell: it can be closed meanwhile."""
        is_under_way = self.has_unsynced or self._is_syncing or self.has_unremoved
        is_hurt = self._failure is not None or bool(self.damage)
        return not (is_under_way or is_hurt or self.producers.transactions) and self.is_synced

    @property
    def has_unsynced(self) -> bool:
        """Whether something waits for `begin_sync`."""
        return bool(self._dirty or self._new_directories)

    def begin_sync(self) -> SyncJob | None:
        """Collect what has to be synced so that everything appended so far is durable."""
        if self._failure is not None or not self.has_unsynced:
            return None
        segments = list(self._dirty)
        job = SyncJob(
            disk=self.disk,
            files=[each.file for each in segments] + self._new_files,
            directories=list(self._new_directories),
            next_offset=self.next_offset,
            sizes=[(each, each.size) for each in segments],
            recovery_point=self._recovery_point,
        )
        self._dirty = {}
        self._new_files = []
        self._new_directories = {}
        self._is_syncing = True
        return job

    def finish_sync(self, job: SyncJob) -> None:
        """Let readers see what `job` made durable."""
        self._is_syncing = False
        for segment, size in job.sizes:
            segment.durable_size = max(segment.durable_size, size)
        self.high_watermark = max(self.high_watermark, job.next_offset)
        self.producers.transactions.settle(self.high_watermark)

    def fail(self, error: BaseException) -> StorageFailed:
        """Stop this partition: after a failed sync nobody knows what is on disk."""
        self._failure = (
            f"{self.directory.name} stopped after a disk error: {error}",
            "check the disk, then restart the broker",
        )
        return StorageFailed(*self._failure)

    def refuse_if_failed(self) -> None:
        if self._failure is not None:
            raise StorageFailed(*self._failure)

    def sync(self) -> None:
        """Make everything appended so far durable, waiting for it."""
        job = self.begin_sync()
        if job is not None:
            job.run()
            self.finish_sync(job)

    def roll(self, now_ms: int) -> None:
        """Seal the active segment and start a new one at the next offset."""
        self.make_room()
        if self.segments:
            stable_to = self.producers.transactions.stable_to(self.next_offset)
            self.active.aborted_index().stable_to = stable_to
            self.active.write_indexes()
            self._write_snapshot()
        segment = Segment(self.disk, self.directory, self.next_offset)
        segment.begin(now_ms)
        if segment.file.size():
            raise StorageFailed(
                f"{segment.path} is in the way of a new segment",
                hint="it is not part of this log; move it elsewhere and restart the broker",
            )
        self.segments = [*self.segments, segment]
        self._new_directories[self.directory] = None

    def advance_start(self, offset: int) -> Removal:
        """Move the log start: records before `offset` are gone for readers at once."""
        if offset > self.high_watermark:
            raise OffsetOutOfRange(f"offset {offset} is beyond the end at {self.high_watermark}")
        if offset > self.log_start_offset:
            self.state = replace(self.state, log_start_offset=offset)
            self.producers.transactions.forget_before(offset)
        return self.remove([each for each in self.segments[:-1] if each.next_offset <= offset])

    def remove(self, doomed: list[Segment]) -> Removal:
        """Take segments at the front out of the log; the files go when the removal runs."""
        if doomed:
            start = max(self.log_start_offset, doomed[-1].next_offset)
            self.state = replace(self.state, log_start_offset=start)
            self.segments = self.segments[len(doomed) :]
            self._unremoved |= dict.fromkeys(doomed)
        return Removal(self, list(self._unremoved))

    @property
    def has_unremoved(self) -> bool:
        return bool(self._unremoved)

    def removed(self, segment: Segment) -> None:
        """Note that the files of a segment are gone; on any thread."""
        self._unremoved.pop(segment, None)

    def write_state(self) -> None:
        """Make the state durable as it is now; never an older one, whichever thread comes last."""
        with self.files:
            if self.segments:
                self.disk.replace(self.directory / STATE_NAME, self.state.encode())

    def abandon(self, reason: str = "deleted") -> None:
        """Its names may belong to another log from now on: touch none of them."""
        self._failure = (f"{self.directory.name} was {reason}", "")
        self.files.abandon()

    def close(self) -> Summary:
        """Sync, keep indexes and producer state, and say what is here for the next start."""
        self.refuse_if_failed()
        self.sync()
        if self.segments and self._is_changed:
            # Not synced: should they be lost, recovery makes them anew from the batches.
            self.active.write_indexes()
        if self.segments and self._is_changed and self.active.size:
            self._put_snapshot()
        return self.summary()

    def summary(self) -> Summary:
        return Summary(
            log_start_offset=self.log_start_offset,
            next_offset=self.next_offset,
            leader_epoch=self.leader_epoch,
            segments=tuple(
                (each.base_offset, each.size, each.next_offset, each.max_timestamp)
                for each in self.segments
            ),
        )

    def _write(self, admitted: Admitted, marker: EndMarker | None = None) -> Appended:
        header = admitted.header
        now_ms = self.clock.now_ms()
        try:
            if not self.segments:
                self._create()
            if not self.segments or self._is_full(header.size, header.max_timestamp, now_ms):
                self.roll(now_ms)
            segment = self.active
            head = stamped_head(header, self.next_offset, self.leader_epoch)
            placed = header.at(self.next_offset)
            segment.append(placed, [head, admitted.body], marker)
        except OSError as error:
            if self.segments and self.active.file.size() != self.active.size:
                raise self.fail(error) from error  # Half a batch is there and could not be undone.
            raise self._refused(error) from error
        self._dirty[segment] = None
        self._is_changed = True
        self._is_refused = False
        if marker is not None:
            self.producers.end(placed, marker, self.clock.monotonic_s())
        elif header.has_producer:
            self.producers.note(placed, placed.base_offset, self.clock.monotonic_s())
        self.next_offset = placed.next_offset
        return Appended(placed.base_offset, placed.last_offset, admitted.append_time_ms)

    def _refused(self, error: OSError) -> StorageFailed:
        """Say it once: producers try again and again."""
        refused = StorageFailed(
            f"{self.directory.name} could not be written: {error}",
            hint="free disk space or check the disk; nothing of this batch was kept",
        )
        if not self._is_refused:
            logger.error("%s", refused)
            self._is_refused = True
        return refused

    def _is_full(self, size: int, timestamp: int, now_ms: int) -> bool:
        segment = self.active
        if segment.size == 0:
            return False
        first = segment.first_timestamp
        age_ms = timestamp - first if first != NO_TIMESTAMP else now_ms - segment.created_ms
        return (
            segment.size + size > self.settings.segment_bytes
            or age_ms > self.settings.segment_ms
            or self.next_offset - segment.base_offset > LARGEST_RELATIVE_OFFSET
        )

    def _create(self) -> None:
        """Make the directory: a partition that never held a record has none."""
        self.disk.make_directory(self.directory)
        file = self.disk.open(self.directory / STATE_NAME)
        file.truncate(0)
        file.append([self.state.encode()])
        self._new_files.append(file)
        self._new_directories[self.directory.parent] = None
        self._new_directories[self.directory] = None
        self._recovery_point = RecoveryPoint(self.disk, self.directory)
        self._new_files.append(self._recovery_point.file)

    def _take(self, loaded: Loaded, *, is_trusted: bool) -> None:
        self.segments = loaded.segments
        self.producers = loaded.producers
        self.producers.loaded(self.clock.monotonic_s())
        self.damage = loaded.damage
        for each in loaded.damage:
            logger.error("damage found: %s", each)
        self.state = replace(loaded.state or self.state, topic_id=self.state.topic_id)
        self.next_offset = self.high_watermark = loaded.next_offset
        if not self.segments:
            return
        self.active.created_ms = self.clock.now_ms()
        with suppress(Corruption):  # Who reads it is told.
            self.active.open()
        if not loaded.is_start_missing:
            start = max(self.state.log_start_offset, self.segments[0].base_offset)
            self.state = replace(self.state, log_start_offset=start)
            self.next_offset = self.high_watermark = max(self.next_offset, start)
        # A snapshot may be older than the log start, and know of records that are gone.
        self.producers.transactions.forget_before(self.log_start_offset)
        self._recovery_point = RecoveryPoint(self.disk, self.directory)
        if not is_trusted:
            self._settle(loaded)

    def _settle(self, loaded: Loaded) -> None:
        """Make durable what recovery found and decided, before anybody sees it."""
        self._is_changed = True
        if loaded.is_cut:
            self.state = self.state.with_epoch_from(self.next_offset)
        if self.state != loaded.state:
            self.write_state()
        if loaded.is_tail_damaged:
            self.roll(self.clock.now_ms())
        for each in self.segments:
            if each.next_offset > loaded.recovery_point:
                self._dirty[each] = None
        if loaded.is_cut or loaded.has_removed or loaded.damage or self._dirty:
            self._new_directories[self.directory] = None
        self.sync()

    def _put_snapshot(self) -> None:
        """Keep the producer state for the next start; the ones of earlier closes have had their time."""
        put(self.disk, snapshot_path(self.directory, self.next_offset), self.producers.encode())
        for offset in snapshot_offsets(self.disk.names(self.directory)):
            if self.active.base_offset < offset < self.next_offset:
                self.disk.remove(snapshot_path(self.directory, offset))

    def _write_snapshot(self) -> None:
        """Keep the producer state as of the next offset, durably.

        A crash may cut the log, but not below the high watermark: older snapshots are kept from the last
        one that was made with a segment before it.
        """
        path = snapshot_path(self.directory, self.next_offset)
        self.disk.replace(path, self.producers.encode())
        bases = [each.base_offset for each in self.segments]
        needed = max((each for each in bases if each <= self.high_watermark), default=0)
        for offset in snapshot_offsets(self.disk.names(self.directory)):
            if offset < needed:
                self.disk.remove(snapshot_path(self.directory, offset))


def _nothing_to_do() -> None:
    """For who has all the files that it wants."""
