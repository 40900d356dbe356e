"""Group commit: one sync of a partition serves every producer that waits for it; the next starts at once.

A few partitions are synced at a time, first come, first served; what is appended to one while it waits for
its turn goes with it. Only when a partition's files are synced does its high watermark move, are its
producers answered and its readers woken. A failed sync stops the partition and fails every request that
waited for it.
"""

import asyncio
import contextlib
import logging
from functools import partial
from itertools import islice

from headwater.broker.partition import Partition
from headwater.broker.shared_futures import result_of
from headwater.broker.sync_threads import SyncThreads
from headwater.errors import StorageFailed
from headwater.log.sync_job import SyncJob

logger = logging.getLogger(__name__)

SYNC_THREADS = 8
PATIENCE_S = 0.05
"""A reader gives way to a sync for no longer, should the disk hang."""
MOMENT_S = 0.02
"""So long after a sync readers still leave the processor to producers: most send again soon."""


class Committer:
    """Makes appended batches durable."""

    def __init__(self, flush_ms: int) -> None:
        self._flush_ms = flush_ms
        self._threads = SyncThreads(SYNC_THREADS)
        self._urgent: dict[Partition, asyncio.Future[None]] = {}
        self._relaxed: dict[Partition, asyncio.TimerHandle] = {}
        self._syncing: dict[Partition, asyncio.Future[None]] = {}
        self._is_turn_due = False
        self._last_synced_s = -MOMENT_S
        self.syncs = 0
        self.last_sync_s = 0.0

    def start(self) -> None:
        """Serve the event loop that runs now."""
        self._loop = asyncio.get_running_loop()
        self._threads.start()

    async def stop(self) -> None:
        """Finish what was asked for, then stop."""
        for partition in list(self._relaxed):
            _ignore_outcome(self.commit(partition))
        while waiting := [*self._urgent.values(), *self._syncing.values()]:
            await asyncio.wait(waiting)
        self._threads.stop()

    def abandon(self) -> None:
        """Stop, and leave what was asked for undone."""
        self._threads.stop()

    @property
    def has_producers(self) -> bool:
        """Whether a producer waits for a sync, or did a moment ago: its next batch may be on its way."""
        is_waited_for = bool(self._syncing or self._urgent)
        return is_waited_for or self._loop.time() - self._last_synced_s < MOMENT_S

    async def let_producers_by(self) -> None:
        """Wait for the syncs that producers wait for: a reader that catches up is in no hurry."""
        if self._syncing or self._urgent:
            await asyncio.wait(
                [*self._syncing.values(), *self._urgent.values()], timeout=PATIENCE_S
            )
        else:
            await asyncio.sleep(0)

    def commit(self, partition: Partition) -> asyncio.Future[None]:
        """Return a future that is done once everything appended so far is durable."""
        future = self._urgent.get(partition)
        if future is None:
            future = self._loop.create_future()
            if partition not in self._syncing and not partition.log.has_unsynced:
                _resolve(future, partition.log.failure)
                return future
            self._urgent[partition] = future
            if (timer := self._relaxed.pop(partition, None)) is not None:
                timer.cancel()
            self._begin_soon()
        return future

    async def durable(self, partition: Partition) -> None:
        """Wait until everything appended so far is durable; raises `StorageFailed` if it never will."""
        await result_of(self.commit(partition))

    async def settle(self, partition: Partition) -> None:
        """Sync what acks=0 and acks=1 left, so that who wrote it finds it in the next answer.

        If that fails, the answer is about what was durable before: it can still be read.
        """
        if not partition.log.is_synced:
            with contextlib.suppress(StorageFailed):
                await self.durable(partition)

    def commit_soon(self, partition: Partition) -> None:
        """Sync within `flush.ms`, at once if a reader is waiting: for acks=0 and acks=1."""
        if partition.has_waiting_readers or partition.log.settings.flush_messages == 1:
            _ignore_outcome(self.commit(partition))
        elif partition not in self._urgent and partition not in self._relaxed:
            delay_s = min(partition.log.settings.flush_ms, self._flush_ms) / 1000
            self._relaxed[partition] = self._loop.call_later(delay_s, self._now_due, partition)

    def hurry(self, partition: Partition) -> None:
        """A reader began to wait: do not keep it waiting for `flush.ms`."""
        if partition in self._relaxed:
            _ignore_outcome(self.commit(partition))

    def _now_due(self, partition: Partition) -> None:
        self._relaxed.pop(partition, None)
        _ignore_outcome(self.commit(partition))

    def _begin_soon(self) -> None:
        """Begin once the requests that have arrived are appended."""
        if not self._is_turn_due:
            self._is_turn_due = True
            self._loop.call_soon(self._begin)

    def _begin(self) -> None:
        """Sync the partitions whose turn it is; one that is being synced waits for its end."""
        self._is_turn_due = False
        waiting = (each for each in self._urgent if each not in self._syncing)
        for partition in list(islice(waiting, SYNC_THREADS - len(self._syncing))):
            self._syncing[partition] = self._urgent.pop(partition)
            job = partition.log.begin_sync()
            if job is None:
                self._end(partition)
            else:
                began_s = self._loop.time()
                self._threads.submit(job, partial(self._synced, partition, job, began_s))

    def _synced(
        self, partition: Partition, job: SyncJob, began_s: float, error: BaseException | None
    ) -> None:
        log = partition.log
        if error is None:
            log.finish_sync(job)
        elif log.failure is None:
            logger.error(
                "sync failed, partition stopped",
                extra={"partition": partition.name},
                exc_info=error,
            )
            log.fail(error)
        self.syncs += 1
        self._last_synced_s = self._loop.time()
        self.last_sync_s = self._last_synced_s - began_s
        self._end(partition)
        partition.wake_readers()

    def _end(self, partition: Partition) -> None:
        """Answer who waited for this partition, and give its place to the next."""
        _resolve(self._syncing.pop(partition), partition.log.failure)
        if self._urgent:
            self._begin_soon()


def _resolve(waiting: asyncio.Future[None], failure: Exception | None) -> None:
    if waiting.done():
        return
    if failure is None:
        waiting.set_result(None)
    else:
        waiting.set_exception(failure)
        waiting.exception()  # Several requests may wait on it, or none: never "was not retrieved".


def _ignore_outcome(future: asyncio.Future[None]) -> None:
    """The failure is kept in the log; the next request meets it there."""
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
