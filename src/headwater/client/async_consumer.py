"""Reading records in a program on asyncio: the same promises as `Consumer`, awaited.

librdkafka is waited for on a thread of its own; what it has brought is handed out on the event loop.
Invariant: the event loop touches the consumer only while no call is under way on the thread.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from functools import partial
from types import TracebackType
from typing import Self

from headwater.client.consumer import Consumer
from headwater.client.offset_range import Position
from headwater.client.one_thread import OneThread
from headwater.client.read_bounds import Partition
from headwater.client.record import Record

# A consumer and its asynchronous twin are one mechanism, cut where it waits.
# ruff: noqa: SLF001


class AsyncConsumer:
    """`async for` records, or `batches()` for lists of them; one task at a time. See `Consumer`.

    A task that is cancelled while it waits leaves what came for it to the next one that asks.
    """

    def __init__(self, open_consumer: Callable[[], Consumer]) -> None:
        self._open = open_consumer
        self._thread = OneThread("consumer")
        self._consumer: Consumer | None = None
        self._is_unclaimed = False
        """Whether the thread has read a batch that was not handed out: its task may be cancelled."""

    @property
    def is_closed(self) -> bool:
        return self._thread.is_closed

    @property
    def assignment(self) -> frozenset[Partition]:
        """The (topic, partition) pairs that this consumer reads now."""
        return frozenset() if self._consumer is None else self._consumer.assignment

    async def __aiter__(self) -> AsyncIterator[Record]:
        """A loop; it begins with the record that the loop before left unfinished."""
        consumer = await self._ready()
        consumer._take_back()
        while (record := await self._next()) is not None:
            consumer._is_in_body = True
            yield record

    async def __anext__(self) -> Record:
        """The next record; asking for it says that the one before is finished."""
        record = await self._next()
        if record is None:
            raise StopAsyncIteration
        return record

    async def batches(
        self, max_records: int = 500, max_wait_s: float = 1.0
    ) -> AsyncIterator[list[Record]]:
        """Lists of at most `max_records`, never empty; finished when the next one is asked for."""
        consumer = await self._ready()
        consumer._take_back()
        while True:
            batch = await self.poll(max_records, max_wait_s)
            if batch:
                consumer._is_in_body = True
                yield batch
            elif await self._has_ended(await self._ready()):
                return

    async def poll(self, max_records: int = 500, max_wait_s: float = 1.0) -> list[Record]:
        """What comes within `max_wait_s`, maybe nothing; finished when more is asked for."""
        consumer = await self._ready()
        consumer._is_called_off = False
        try:
            batch = await self._thread.run(partial(self._poll, consumer, max_records, max_wait_s))
        except asyncio.CancelledError:
            consumer._is_called_off = True
            raise
        self._thread.refuse_if_closing()
        self._is_unclaimed = False
        return batch

    async def seek(
        self, to: str | int | Position, *, topic: str | None = None, partition: int | None = None
    ) -> None:
        """Read on from another position, in every assigned partition or in the one named."""
        consumer = await self._ready()
        await self._thread.run(partial(consumer.seek, to, topic=topic, partition=partition))

    async def commit(self) -> None:
        """Say in the middle of a body that the record is finished, and store that now."""
        consumer = await self._ready()
        await self._thread.run(consumer.commit)

    async def close(self) -> None:
        """Leave the group; what is unfinished will be read again.

        A task that reads meanwhile gets `InvalidRequest`: its loop does not end as if all were read.
        """
        await self._close(Consumer.close)

    async def __aenter__(self) -> Self:
        await self._ready()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        def leave(consumer: Consumer) -> None:
            consumer.__exit__(kind, error, traceback)

        await self._close(leave)

    async def _close(self, leave: Callable[[Consumer], None]) -> None:
        if self._consumer is not None:
            self._consumer._is_called_off = True
        await self._thread.close(partial(self._leave, leave))

    async def _ready(self) -> Consumer:
        """The consumer, with no call of it under way."""
        await self._thread.idle()
        self._thread.refuse_if_closing()
        if self._consumer is None:
            await self._thread.run(self._begin)
            return await self._ready()
        self._take_back_unclaimed(self._consumer)
        return self._consumer

    async def _next(self) -> Record | None:
        consumer = await self._ready()
        consumer._finish()
        while True:
            if consumer._is_answer_due():
                await self._thread.run(consumer._answer)
            elif (record := consumer._read_ahead()) is not None:
                return record
            elif await self._has_ended(consumer):
                return None
            else:
                await self._thread.run(consumer._fill)
            await self._ready()

    async def _has_ended(self, consumer: Consumer) -> bool:
        """A member of a group asks the broker; who follows without an end has none."""
        return consumer.is_bounded and await self._thread.run(consumer._has_ended)

    def _take_back_unclaimed(self, consumer: Consumer) -> None:
        if self._is_unclaimed:
            self._is_unclaimed = False
            consumer._put_back()

    # On the thread.

    def _begin(self) -> None:
        """Here, so that it is not lost if who asked for it is cancelled."""
        self._consumer = self._open()

    def _poll(self, consumer: Consumer, max_records: int, max_wait_s: float) -> list[Record]:
        self._is_unclaimed = True
        return consumer.poll(max_records, max_wait_s)

    def _leave(self, leave: Callable[[Consumer], None]) -> None:
        if self._consumer is not None:
            self._take_back_unclaimed(self._consumer)
            leave(self._consumer)
