"""How a decided transaction is carried out: markers once Prepare is durable, then Complete."""

import asyncio
from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from headwater.broker.groups.records import TopicPartition
from headwater.broker.shared_futures import result_of
from headwater.broker.transactions.journal import Journal, Markers
from headwater.broker.transactions.transaction import Transaction
from headwater.errors import HeadwaterError


class TooEarly(Exception):
    """A request must wait for the markers of the transaction before its own."""

    def __init__(self, until: asyncio.Future[None]) -> None:
        super().__init__()
        self.until = until


class Ending(NamedTuple):
    """One transaction that is being ended; both futures are shared, and fail if it cannot be decided."""

    prepared: Transaction
    decided: asyncio.Future[None]
    finished: asyncio.Future[None]


class Endings:
    """The transactions that are being ended; each once, however many wait for it."""

    def __init__(
        self,
        journal: Journal,
        markers: Markers,
        complete: Callable[[Transaction], None],
        failed: Callable[[str, HeadwaterError], None],
    ) -> None:
        self._journal = journal
        self._markers = markers
        self._complete = complete
        self._failed = failed
        self._running: dict[str, Ending] = {}
        self._unmarked: dict[str, AbstractSet[TopicPartition]] = {}
        """What is left to do of a transaction that is tried again: where it may have no marker."""

    async def decide(self, prepared: Transaction) -> None:
        """Return once the outcome is durable, and raise if it will not be; the markers follow."""
        await result_of(self._begin(prepared).decided)

    async def carry_out(self, prepared: Transaction) -> None:
        """Wait until a prepared transaction is complete; raises if its outcome is not durable.

        If only the markers fail, `failed` is told and this returns: what is decided will not change.
        """
        await result_of(self._begin(prepared).finished)

    def find(self, transactional_id: str) -> asyncio.Future[None] | None:
        """What is done when the transaction of this id has its markers, if that goes on now."""
        ending = self._running.get(transactional_id)
        return ending.finished if ending is not None else None

    async def wait_for(self, transactional_id: str) -> None:
        """Wait while the transaction of this id is being ended."""
        if (finished := self.find(transactional_id)) is not None:
            await asyncio.wait([finished])

    async def wait_in(self, partition: TopicPartition) -> None:
        """Wait for the markers that are being written to a partition."""
        finished = [
            each.finished
            for each in self._running.values()
            if partition in each.prepared.partitions
        ]
        if finished:
            await asyncio.wait(finished)

    async def finish(self) -> None:
        """Wait until nothing is being ended any more."""
        if self._running:
            await asyncio.wait([each.finished for each in self._running.values()])

    def _begin(self, prepared: Transaction) -> Ending:
        key = prepared.transactional_id
        ending = self._running.get(key)
        if ending is None:
            decided = self._journal.durable()
            finished = asyncio.ensure_future(self._finish(prepared, decided))
            ending = self._running[key] = Ending(prepared, decided, finished)
            finished.add_done_callback(lambda _: self._running.pop(key))
            finished.add_done_callback(_seen)
        return ending

    async def _finish(self, prepared: Transaction, decided: asyncio.Future[None]) -> None:
        # Like who ended it, who was there first: the answer goes out before the markers take their time.
        await result_of(decided)
        key = prepared.transactional_id
        partitions = self._unmarked.get(key, prepared.partitions)
        failures = await self._markers.write(prepared, partitions)
        self._unmarked[key] = failures.keys()
        if failures:
            self._failed(key, next(iter(failures.values())))
            return
        try:
            self._complete(prepared)
        except HeadwaterError as error:
            self._failed(key, error)
        else:
            del self._unmarked[key]


def _seen(done: asyncio.Future[None]) -> None:
    """Whoever waited may have gone: never "was not retrieved"."""
    if not done.cancelled():
        done.exception()
