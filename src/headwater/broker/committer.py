"""Group commit: one round of syncs serves every producer that is waiting; the next round starts at once.

Only when a partition's files are synced does its high watermark move, are its producers answered and its
readers woken. A failed sync stops the partition and fails every request that waited for it.
"""

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor

from headwater.broker.partition import Partition
from headwater.log.partition import SyncJob

logger = logging.getLogger(__name__)

SYNC_THREADS = 4


class Committer:
    """Makes appended batches durable, in rounds."""

    def __init__(self, flush_ms: int) -> None:
        self._flush_ms = flush_ms
        self._pool = ThreadPoolExecutor(SYNC_THREADS, thread_name_prefix="sync")
        self._urgent: dict[Partition, asyncio.Future[None]] = {}
        self._relaxed: dict[Partition, asyncio.TimerHandle] = {}
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.rounds = 0
        self.last_round_s = 0.0

    def start(self) -> None:
        self._task = asyncio.create_task(self._run(), name="committer")

    async def stop(self) -> None:
        """Finish what was asked for, then stop."""
        for partition in list(self._relaxed):
            self.commit(partition)
        waiting = list(self._urgent.values())
        if waiting:
            await asyncio.wait(waiting)
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        self._pool.shutdown()

    def commit(self, partition: Partition) -> asyncio.Future[None]:
        """Return a future that is done once everything appended so far is durable."""
        future = self._urgent.get(partition)
        if future is None:
            future = asyncio.get_running_loop().create_future()
            self._urgent[partition] = future
            if (timer := self._relaxed.pop(partition, None)) is not None:
                timer.cancel()
            self._wake.set()
        return future

    async def durable(self, partition: Partition) -> None:
        """Wait until everything appended so far is durable; raises `StorageFailed` if it never will."""
        future = self.commit(partition)
        # Shared with other requests: a cancelled waiter must not cancel it for all.
        await asyncio.wait([future])
        future.result()

    async def settle(self, partition: Partition) -> None:
        """Sync what acks=0 and acks=1 left, so that who wrote it finds it in the next answer."""
        if not partition.log.is_synced:
            await self.durable(partition)

    def commit_soon(self, partition: Partition) -> None:
        """Sync within `flush.ms`, at once if a reader is waiting: for acks=0 and acks=1."""
        if partition.has_waiting_readers or partition.log.settings.flush_messages == 1:
            _ignore_outcome(self.commit(partition))
        elif partition not in self._urgent and partition not in self._relaxed:
            delay_s = min(partition.log.settings.flush_ms, self._flush_ms) / 1000
            loop = asyncio.get_running_loop()
            self._relaxed[partition] = loop.call_later(delay_s, self._now_due, partition)

    def hurry(self, partition: Partition) -> None:
        """A reader began to wait: do not keep it waiting for `flush.ms`."""
        if partition in self._relaxed:
            _ignore_outcome(self.commit(partition))

    def _now_due(self, partition: Partition) -> None:
        self._relaxed.pop(partition, None)
        _ignore_outcome(self.commit(partition))

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._wake.wait()
            self._wake.clear()
            round_, self._urgent = self._urgent, {}
            started = loop.time()
            await asyncio.gather(*(self._sync(*each) for each in round_.items()))
            self.rounds += 1
            self.last_round_s = loop.time() - started

    async def _sync(self, partition: Partition, waiting: asyncio.Future[None]) -> None:
        log = partition.log
        job = log.begin_sync()
        if job is None:
            _resolve(waiting, log.failure)
            return
        try:
            await asyncio.get_running_loop().run_in_executor(self._pool, _run_job, job)
        except OSError as error:
            if log.failure is None:
                logger.exception(
                    "sync failed, partition stopped", extra={"partition": partition.name}
                )
                log.fail(error)
            _resolve(waiting, log.failure)
            partition.wake_readers()
            return
        log.finish_sync(job)
        _resolve(waiting, None)
        partition.wake_readers()


def _run_job(job: SyncJob) -> None:
    job.run()


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
