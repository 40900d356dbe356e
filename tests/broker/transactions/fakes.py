"""A coordinator without sockets or files: time, durability and markers are in the test's hands."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from collections.abc import Set as AbstractSet
from itertools import count

from broker.groups.fakes import HandClock
from headwater.broker.groups.records import Record, TopicPartition
from headwater.broker.transactions.coordinator import Answer, Transactions
from headwater.broker.transactions.settings import TransactionSettings
from headwater.broker.transactions.transaction import Transaction, TransactionState
from headwater.errors import HeadwaterError, StorageFailed
from headwater.wire.error_codes import ErrorCode
from headwater.wire.record_batch import ProducerIdAndEpoch

ONE, TWO = TopicPartition("t", 0), TopicPartition("t", 1)
NONE = ErrorCode.NONE
OLD, NEW = 0, 2
DAY_MS = 86_400_000


class MemoryJournal:
    """Keeps records in memory; they are durable when `durable` was called and nobody holds it."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.synced = 0
        self.is_full = False
        self.is_failing = False
        self._open = asyncio.Event()
        self._open.set()

    def append(self, records: Sequence[Record]) -> None:
        if self.is_full or self.is_failing:
            raise StorageFailed("no space")
        self.records.extend(records)

    def durable(self) -> asyncio.Future[None]:
        syncing = asyncio.ensure_future(self._sync(len(self.records)))
        syncing.add_done_callback(lambda done: done.cancelled() or done.exception())
        return syncing

    async def _sync(self, upto: int) -> None:
        await self._open.wait()
        if self.is_failing:
            raise StorageFailed("the disk is gone")
        self.synced = max(self.synced, upto)

    def hold(self) -> None:
        self._open.clear()

    def release(self) -> None:
        self._open.set()


class MemoryMarkers:
    """Notes what was ended, and that it was decided durably before."""

    def __init__(self, journal: MemoryJournal) -> None:
        self._journal = journal
        self.written: list[Transaction] = []
        self.is_written = asyncio.Event()
        self.places: list[TopicPartition] = []
        self.failing: set[TopicPartition] = set()
        self._open = asyncio.Event()
        self._open.set()

    async def write(
        self, transaction: Transaction, partitions: AbstractSet[TopicPartition]
    ) -> dict[TopicPartition, HeadwaterError]:
        assert self._journal.synced == len(self._journal.records), (
            "markers before Prepare is durable"
        )
        await self._open.wait()
        refused = partitions & self.failing
        self.places += partitions - refused
        if not refused:
            self.written.append(transaction)
            self.is_written.set()
        return {each: StorageFailed("no space") for each in refused}

    def hold(self) -> None:
        self._open.clear()

    def release(self) -> None:
        self._open.set()


class MemoryIds:
    def __init__(self) -> None:
        self._ids = count(1000)

    async def allocate(self) -> int:
        await asyncio.sleep(0)
        return next(self._ids)


class Rig:
    """One coordinator, and the client of one transactional id."""

    def __init__(self, settings: TransactionSettings | None = None) -> None:
        self.clock = HandClock()
        self.journal = MemoryJournal()
        self.markers = MemoryMarkers(self.journal)
        self.ids = MemoryIds()
        self.settings = settings or TransactionSettings()
        self.transactions = self.coordinator()

    def coordinator(self) -> Transactions:
        return Transactions(self.clock, self.journal, self.markers, self.ids, self.settings)

    async def restart(self, *, is_crash: bool = False) -> None:
        """Begin again from the journal; after a crash, from what was synced.

        What the old coordinator still has under way reaches neither the new journal nor its markers.
        """
        records = self.journal.records
        kept = records[: self.journal.synced] if is_crash else list(records)
        self.journal = MemoryJournal()
        self.journal.records = kept
        self.markers = MemoryMarkers(self.journal)
        self.transactions = self.coordinator()
        for key, value in self.journal.records:
            self.transactions.replay(key, value)
        self.journal.synced = len(self.journal.records)
        await self.transactions.resume()

    @property
    def transaction(self) -> Transaction:
        found = self.transactions.find("x")
        assert found is not None
        return found

    @property
    def state(self) -> TransactionState:
        return self.transaction.state

    async def init(
        self, expected: ProducerIdAndEpoch | None = None, timeout_ms: int = 60_000
    ) -> Answer:
        return await self.transactions.initialize("x", timeout_ms, expected)

    async def started(self) -> ProducerIdAndEpoch:
        answer = await self.init()
        assert answer.error is NONE
        return answer.producer

    async def add(
        self, producer: ProducerIdAndEpoch, *partitions: TopicPartition, version: int = OLD
    ) -> ErrorCode:
        code = self.transactions.add("x", producer, set(partitions or [ONE]), version)
        return code or await self.transactions.durable()

    async def end(
        self, producer: ProducerIdAndEpoch, *, is_commit: bool = True, version: int = OLD
    ) -> Answer:
        return await self.transactions.end("x", producer, is_commit=is_commit, version=version)

    async def pass_time(self, seconds: float) -> None:
        """Move time on, and let what falls due happen."""
        self.clock.advance(seconds)
        self.transactions.tick()
        await settle()


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


def scenario(test: Callable[[Rig], Awaitable[None]]) -> Callable[[], None]:
    """Run an async test on a fresh rig; it takes no fixtures."""

    def run() -> None:
        async def body() -> None:
            await test(Rig())

        asyncio.run(body())

    run.__name__ = test.__name__
    run.__doc__ = test.__doc__
    return run
