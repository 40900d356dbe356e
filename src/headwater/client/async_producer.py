"""Sending records in a program on asyncio: the same promises as `Producer`, awaited.

A thread of its own serves librdkafka's answers; they reach the event loop many at a time.
"""

import asyncio
import threading
from collections import deque
from contextlib import suppress
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Any, Final, Self

from headwater.client.one_thread import OneThread
from headwater.client.producer import Delivery, Producer
from headwater.client.record import Headers, Receipt
from headwater.errors import HeadwaterError, Unavailable

# A producer and its asynchronous twin are one mechanism, cut where it waits.
# ruff: noqa: SLF001

_SERVE_S: Final = 0.2


class AsyncDelivery:
    """One record on its way: `await delivery.result()` is its receipt, or raises why it was not stored."""

    __slots__ = ("_delivery", "_owner", "_waiters")

    def __init__(self, owner: "AsyncProducer", delivery: Delivery) -> None:
        self._owner = owner
        self._delivery = delivery
        self._waiters: list[asyncio.Future[None]] = []

    @property
    def done(self) -> bool:
        return self._delivery.done

    async def result(self, timeout_s: float | None = None) -> Receipt:
        """Wait for the broker's answer; a failure raised here is not raised again by `flush()`."""
        if not self._delivery.done:
            waiter = asyncio.get_running_loop().create_future()
            self._waiters.append(waiter)
            await self._wait(waiter, timeout_s)
        return self._delivery.result()

    async def _wait(self, waiter: "asyncio.Future[None]", timeout_s: float | None) -> None:
        try:
            async with asyncio.timeout(timeout_s):
                await waiter
        except TimeoutError:
            raise Unavailable(
                what=f"the record has no answer after {timeout_s} s",
                hint="it may still arrive: ask again, or flush()",
            ) from None

    def _settle(self, error: Any, message: Any) -> None:
        self._delivery._settle(error, message)
        self._owner._note(self)

    def _wake(self) -> None:
        for each in self._waiters:
            if not each.done():
                each.set_result(None)
        self._waiters.clear()


class AsyncProducer:
    """`await send()` waits only for room; leaving the `async with` block flushes. See `Producer`."""

    def __init__(self, producer: Producer) -> None:
        self._producer = producer
        self._loop = asyncio.get_running_loop()
        self._settled: deque[AsyncDelivery] = deque()
        self._is_woken = False
        self._room = asyncio.Event()
        self._flushing = OneThread("producer")
        self._server = threading.Thread(
            target=self._serve, name="headwater-deliveries", daemon=True
        )
        self._is_over = False
        self._server.start()

    @property
    def is_closed(self) -> bool:
        return self._flushing.is_closed

    async def send(
        self,
        topic: str,
        value: Any,
        *,
        key: str | bytes | None = None,
        headers: Headers | None = None,
        timestamp: datetime | int | None = None,
        partition: int | None = None,
    ) -> AsyncDelivery:
        """Queue one record; returns before it is stored. `value=None` is a tombstone."""
        producer = self._producer
        arguments = producer._arguments(topic, value, key, headers, timestamp, partition)
        own = Delivery(producer)
        delivery = AsyncDelivery(self, own)
        deadline = self._loop.time() + producer._timeout_s
        while not producer._offer(arguments, own, delivery._settle):
            self._room.clear()
            try:
                async with asyncio.timeout_at(deadline):
                    await self._room.wait()
            except TimeoutError:
                raise producer._refuse_to_wait(topic) from None
            producer._refuse_if_closed()
        return delivery

    async def flush(self, timeout_s: float | None = None) -> None:
        """Wait until every record sent so far is stored; raise if one was not.

        What other tasks send meanwhile is not waited for.
        """
        if self._flushing.is_closing:
            await self.close()
        else:
            sent = self._producer._under_way.copy()
            await self._flushing.run(partial(self._producer._drain, sent, timeout_s))
            self._producer._raise_failures()

    async def close(self) -> None:
        """The same as `flush`; nothing can be sent afterwards."""
        self._producer.is_closed = True
        await self._flushing.close(self._end)
        # Here and not on the thread: who is cancelled before must leave them to be raised.
        self._producer._raise_failures()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            await self.close()
        except HeadwaterError as undelivered:
            if error is None:
                raise
            error.add_note(f"and while leaving: {undelivered}")

    def _end(self) -> None:
        try:
            self._producer._drain(None)
        finally:
            self._is_over = True

    def _serve(self) -> None:
        while not self._is_over and not self._loop.is_closed():
            self._producer._kafka.poll(_SERVE_S)

    def _note(self, delivery: AsyncDelivery) -> None:
        """On the thread of an answer: the event loop is woken once for all that come together."""
        self._settled.append(delivery)
        if not self._is_woken:
            self._is_woken = True
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                self._loop.call_soon_threadsafe(self._wake)

    def _wake(self) -> None:
        self._is_woken = False
        while self._settled:
            self._settled.popleft()._wake()
        self._room.set()
