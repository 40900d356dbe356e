"""Reading records in a program on asyncio: the same promises as `Consumer`, awaited.

librdkafka is waited for on a thread of its own; what it has brought is handed out on the event loop.
"""

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
    """`async for` records, or `batches()` for lists of them; one task at a time. See `Consumer`."""

    def __init__(self, open_consumer: Callable[[], Consumer]) -> None:
        self._open = open_consumer
        self._thread = OneThread("headwater-consumer")
        self._consumer: Consumer | None = None
        self.is_closed = False

    @property
    def assignment(self) -> frozenset[Partition]:
        """The (topic, partition) pairs that this consumer reads now."""
        return frozenset() if self._consumer is None else self._consumer.assignment

    async def __aiter__(self) -> AsyncIterator[Record]:
        """A loop; it begins with the record that the loop before left unfinished."""
        consumer = await self._ready()
        consumer._take_back()
        while (record := await self._next(consumer)) is not None:
            consumer._is_in_body = True
            yield record

    async def __anext__(self) -> Record:
        """The next record; asking for it says that the one before is finished."""
        record = await self._next(await self._ready())
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
            elif consumer._has_ended():
                return

    async def poll(self, max_records: int = 500, max_wait_s: float = 1.0) -> list[Record]:
        """What comes within `max_wait_s`, maybe nothing; finished when more is asked for."""
        consumer = await self._ready()
        return await self._thread.run(partial(consumer.poll, max_records, max_wait_s))

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
        """Leave the group; what is unfinished will be read again."""
        await self.__aexit__(None, None, None, is_left=False)

    async def __aenter__(self) -> Self:
        await self._ready()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        *,
        is_left: bool = True,
    ) -> None:
        self.is_closed = True
        await self._thread.idle()
        if self._consumer is not None:
            leave = partial(self._consumer.__exit__, kind, error, traceback)
            await self._thread.run(leave if is_left else self._consumer.close)
        self._thread.close()

    async def _ready(self) -> Consumer:
        """The consumer, with no call of it under way."""
        await self._thread.idle()
        if self._consumer is None:
            await self._thread.run(self._begin)
            assert self._consumer is not None
        return self._consumer

    def _begin(self) -> None:
        """On the thread, so that it is not lost if who asked for it is cancelled."""
        self._consumer = self._open()

    async def _next(self, consumer: Consumer) -> Record | None:
        await self._thread.idle()
        consumer._finish()
        while True:
            record = consumer._read_ahead()
            if record is not None:
                return record
            if consumer._has_ended():
                return None
            await self._thread.run(consumer._fill)
