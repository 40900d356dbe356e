"""Where groups are made durable, and in which order.

The ledger has one append under way at a time; what comes meanwhile goes together into the next. So
the effects of writes happen in the order of the writes, and memory never disagrees with the log.
"""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol, TypeAlias

from headwater.broker.groups.records import Record
from headwater.errors import HeadwaterError, StorageFailed, Unavailable
from headwater.wire.error_codes import ErrorCode, code_of

Settled: TypeAlias = Callable[[HeadwaterError | None], None]
"""Called when records are durable (None), or when they are known not to be."""


class Journal(Protocol):
    """A log of keyed records, compacted by key; a null value deletes the key."""

    async def append(self, records: Sequence[Record]) -> None:
        """Return once all records are durable; raise `StorageFailed` if they may not be."""


class Ledger:
    """Writes to the journal in order."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._queue: list[tuple[Sequence[Record], Settled]] = []
        self._writer: asyncio.Task[None] | None = None

    def write(self, records: Sequence[Record], settled: Settled) -> None:
        """Queue records; `settled` is called after those of all earlier writes."""
        self._queue.append((records, settled))
        if self._writer is None:
            self._writer = asyncio.get_running_loop().create_task(self._drain())

    async def written(self, records: Sequence[Record], settled: Settled) -> HeadwaterError | None:
        """Write and wait; `settled` is called also if the caller is cancelled meanwhile."""
        outcome: asyncio.Future[HeadwaterError | None] = asyncio.get_running_loop().create_future()

        def settle(error: HeadwaterError | None) -> None:
            settled(error)
            if not outcome.done():
                outcome.set_result(error)

        self.write(records, settle)
        return await outcome

    async def flush(self) -> None:
        """Wait until everything written so far has settled."""
        if self._writer is not None:
            await self.written((), lambda _error: None)

    async def _drain(self) -> None:
        batch: list[tuple[Sequence[Record], Settled]] = []
        try:
            while self._queue:
                batch, self._queue = self._queue, []
                error = await self._append([each for records, _ in batch for each in records])
                _settle(batch, error)
        finally:
            self._writer = None
            # Something is left only if the journal broke its contract; nobody waits for it then.
            left, self._queue = batch + self._queue, []
            _settle(left, Unavailable("the journal of the group coordinator has stopped"))

    async def _append(self, records: Sequence[Record]) -> HeadwaterError | None:
        try:
            if records:
                await self._journal.append(records)
        except HeadwaterError as error:
            return error
        return None


def _settle(writes: list[tuple[Sequence[Record], Settled]], error: HeadwaterError | None) -> None:
    while writes:
        _, settled = writes.pop(0)
        settled(error)


def code_after(error: HeadwaterError | None) -> ErrorCode:
    """What a group's client is told after a write; as in Kafka, to look for a coordinator anew."""
    if error is None:
        return ErrorCode.NONE
    if isinstance(error, StorageFailed):
        return ErrorCode.NOT_COORDINATOR
    return code_of(error)
