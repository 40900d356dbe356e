"""How a decided transaction is carried out: markers once Prepare is durable, then Complete."""

import asyncio
from collections.abc import Callable

from headwater.broker.transactions.journal import Journal, Markers
from headwater.broker.transactions.transaction import Transaction
from headwater.errors import HeadwaterError


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
        self._running: dict[str, asyncio.Task[None]] = {}

    async def carry_out(self, prepared: Transaction) -> None:
        """Wait until a prepared transaction is complete; raises if its outcome is not durable.

        If only the markers fail, `failed` is told and this returns: what is decided will not change.
        """
        key = prepared.transactional_id
        task = self._running.get(key)
        if task is None:
            task = self._running[key] = asyncio.create_task(self._carry_out(prepared))
            task.add_done_callback(lambda _: self._running.pop(key))
            task.add_done_callback(_seen)
        # Shared: a cancelled waiter must not cancel it for all.
        await asyncio.wait([task])
        task.result()

    async def finish(self) -> None:
        """Wait until nothing is being ended any more."""
        if self._running:
            await asyncio.wait(self._running.values())

    async def _carry_out(self, prepared: Transaction) -> None:
        await self._journal.durable()
        try:
            await self._markers.write(prepared)
            self._complete(prepared)
        except HeadwaterError as error:
            self._failed(prepared.transactional_id, error)


def _seen(task: asyncio.Task[None]) -> None:
    """Whoever waited may have gone: never "was not retrieved"."""
    if not task.cancelled():
        task.exception()
