"""Where groups are made durable, and in which order.

The ledger has one append under way at a time; what comes meanwhile goes together into the next. So
the effects of writes happen in the order of the writes, and memory never disagrees with the log.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from headwater.broker.groups.records import Record
from headwater.errors import HeadwaterError, RecordTooLarge, StorageFailed, Unavailable
from headwater.wire.error_codes import ErrorCode, code_of
from headwater.wire.record_batch import NOBODY, ProducerIdAndEpoch

Settled: TypeAlias = Callable[[HeadwaterError | None], None]
"""Called when records are durable (None), or when they are known not to be."""


@dataclass(frozen=True, slots=True)
class TransactionEnd:
    """How the transaction of a producer ends; `version` is the transaction version of its client."""

    is_commit: bool
    coordinator_epoch: int
    version: int


@dataclass(slots=True)
class Entry:
    """What is written at once: records, perhaps in a transaction, or the end of that transaction."""

    records: Sequence[Record] = ()
    producer: ProducerIdAndEpoch = NOBODY
    end: TransactionEnd | None = None
    base_offset: int = -1
    """Where the first record stands, once it is written."""
    error: HeadwaterError | None = None
    """Why this one was not written, though others were."""


class Journal(Protocol):
    """A log of keyed records, compacted by key; a null value deletes the key."""

    async def append(self, entries: Sequence[Entry]) -> None:
        """Write the entries in order and note in each where it stands, or why it was refused.

        Returns once all that is written is durable; raises `StorageFailed` if it may not be.
        """


class Ledger:
    """Writes to the journal in order."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._queue: list[tuple[Entry, Settled]] = []
        self._writer: asyncio.Task[None] | None = None

    def write(self, entry: Entry, settled: Settled) -> None:
        """Queue an entry; `settled` is called after those of all earlier writes."""
        self._queue.append((entry, settled))
        if self._writer is None:
            self._writer = asyncio.get_running_loop().create_task(self._drain())

    async def written(self, entry: Entry, settled: Settled) -> HeadwaterError | None:
        """Write and wait; `settled` is called also if the caller is cancelled meanwhile."""
        return await self.begin(entry, settled)

    def begin(self, entry: Entry, settled: Settled) -> "asyncio.Future[HeadwaterError | None]":
        """Queue an entry, as `write` does; the future tells how it ended."""
        outcome: asyncio.Future[HeadwaterError | None] = asyncio.get_running_loop().create_future()

        def settle(error: HeadwaterError | None) -> None:
            settled(error)
            if not outcome.done():
                outcome.set_result(error)

        self.write(entry, settle)
        return outcome

    async def flush(self) -> None:
        """Wait until everything written so far has settled."""
        if self._writer is not None:
            await self.written(Entry(), lambda _error: None)

    async def _drain(self) -> None:
        batch: list[tuple[Entry, Settled]] = []
        try:
            while self._queue:
                batch, self._queue = self._queue, []
                _settle(batch, await self._append([entry for entry, _ in batch]))
        finally:
            self._writer = None
            # Something is left only if the journal broke its contract; nobody waits for it then.
            left, self._queue = batch + self._queue, []
            _settle(left, Unavailable("the journal of the group coordinator has stopped"))

    async def _append(self, entries: Sequence[Entry]) -> HeadwaterError | None:
        written = [each for each in entries if each.records or each.end is not None]
        try:
            if written:
                await self._journal.append(written)
        except HeadwaterError as error:
            return error
        return None


def _settle(writes: list[tuple[Entry, Settled]], error: HeadwaterError | None) -> None:
    while writes:
        entry, settled = writes.pop(0)
        settled(error or entry.error)


def code_after(error: HeadwaterError | None) -> ErrorCode:
    """What a group's client is told after a write, as by Kafka: mostly to look for a coordinator anew."""
    if error is None:
        return ErrorCode.NONE
    if isinstance(error, StorageFailed):
        return ErrorCode.NOT_COORDINATOR
    if isinstance(error, RecordTooLarge):
        return ErrorCode.UNKNOWN_SERVER_ERROR
    return code_of(error)
