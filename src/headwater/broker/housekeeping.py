"""Work that nobody asks for: retention, compaction, expiry of producers, offsets and ids."""

import asyncio
import json
import logging
import sys
from asyncio.subprocess import PIPE
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from headwater.broker.partition import Partition
from headwater.errors import HeadwaterError, StorageFailed
from headwater.log import compaction, retention
from headwater.log.cleaner import Cleaned, CleanerJob, clean
from headwater.log.partition import PartitionLog

if TYPE_CHECKING:
    from headwater.broker.broker import Broker

logger = logging.getLogger(__name__)

SMALL_JOB_BYTES: Final = 1 << 20


class Chore:
    """Work that comes again and again; never twice at the same time."""

    def __init__(self, work: Callable[[], Awaitable[None]], interval_ms: int) -> None:
        self._work = work
        self._interval_s = interval_ms / 1000
        self._at_work = asyncio.Lock()

    async def keep_doing(self) -> None:
        while True:
            await asyncio.sleep(self._interval_s)
            await self.do()

    async def do(self) -> None:
        async with self._at_work:
            try:
                await self._work()
            except (HeadwaterError, OSError):
                logger.exception("housekeeping failed, it will be tried again")


class Housekeeping:
    """Periodic work, one partition at a time, off the event loop where it waits for the disk."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        settings = broker.settings
        self._chores = (
            Chore(self.expire, settings.retention_check_ms),
            Chore(self.expire_offsets, settings.offsets_check_ms),
            Chore(self.compact, settings.compaction_check_ms),
            Chore(self.expire_ids, settings.transactional_id_check_ms),
        )
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [asyncio.create_task(each.keep_doing()) for each in self._chores]

    async def do_all(self) -> None:
        """Do now what would be done next in its time."""
        for each in self._chores:
            await each.do()

    def stop(self) -> None:
        for each in self._tasks:
            each.cancel()

    async def expire(self) -> None:
        """Delete old segments, and forget idle producers."""
        broker = self._broker
        now_ms = broker.clock.now_ms()
        unheard_s = broker.clock.monotonic_s() - broker.settings.producer_expiration_ms / 1000
        for partition in self._partitions():
            await asyncio.sleep(0)  # There may be thousands, to be opened each.
            with _failures_stay_in(partition), partition.kept_open() as log:
                log.producers.expire(unheard_s)
                removal = retention.expire(log, now_ms)
                if removal is not None:
                    logger.info(
                        "deleted old segments",
                        extra={"partition": partition.name, "segments": len(removal.segments)},
                    )
                    await broker.read_on_thread(removal.run)

    async def expire_offsets(self) -> None:
        """Forget offsets that nobody has used for long, and groups that have nothing left."""
        await self._broker.groups.expire_offsets(self._broker.clock.now_ms())

    async def expire_ids(self) -> None:
        """Forget transactional ids that nobody has used for long."""
        await self._broker.transactions.expire_ids(self._broker.clock.now_ms())

    async def compact(self) -> None:
        """Compact every log that has gathered enough that is outdated."""
        for partition in [*self._partitions(), self._broker.metadata.partition]:
            await asyncio.sleep(0)
            with _failures_stay_in(partition), partition.kept_open() as log:
                while await self._compact(log):
                    pass

    async def _compact(self, log: PartitionLog) -> bool:
        """Take one pass; returns whether another may be worth it."""
        on_thread = self._broker.read_on_thread
        plans = compaction.plan(log, self._broker.clock.now_ms())
        if not plans:
            return False
        compaction.mark_sparse(log, plans)
        await on_thread(log.write_state)
        cleaned: Cleaned | None = None
        for plan in plans:
            cleaned = await self._clean(plan.job_after(cleaned))
            exchange = compaction.Exchange.of(log, plan, cleaned)
            segment = await on_thread(exchange.commit)
            if not exchange.install(segment):
                await on_thread(exchange.abandon)
                return False
            await on_thread(exchange.finish, segment)
            logger.info(
                "compacted",
                extra={
                    "partition": log.directory.name,
                    "kept": cleaned.records_kept,
                    "dropped": cleaned.records_dropped,
                },
            )
        compaction.mark_clean(log, plans)
        await on_thread(log.write_state)
        return True

    async def _clean(self, job: CleanerJob) -> Cleaned:
        """Small jobs on a thread; large ones in a process that does not hold up the broker."""
        total = sum(size for _, size in [*job.segments, *job.dirty])
        if total < SMALL_JOB_BYTES:
            return await self._broker.read_on_thread(clean, job, self._broker.disk)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "headwater.log.cleaner", stdin=PIPE, stdout=PIPE, stderr=PIPE
        )
        try:
            output, errors = await process.communicate(json.dumps(asdict(job)).encode())
        finally:
            if process.returncode is None:
                process.kill()
        if process.returncode:
            raise StorageFailed(f"compaction of {job.directory} failed: {errors.decode()[-500:]}")
        return Cleaned(**json.loads(output))

    def _partitions(self) -> list[Partition]:
        return [
            each
            for topic in self._broker.topics
            for each in topic.partitions
            if not each.holds_nothing
        ]


@contextmanager
def _failures_stay_in(partition: Partition) -> Iterator[None]:
    """A damaged or failed partition does not keep the others from being looked after."""
    try:
        yield
    except HeadwaterError as error:
        logger.warning("housekeeping has to wait: %s", error, extra={"partition": partition.name})
    except OSError:
        logger.exception(
            "housekeeping failed, it will be tried again", extra={"partition": partition.name}
        )
