"""`AsyncClient`: the client of a program on asyncio. What blocks in `Client` is awaited here."""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from headwater.client.admin import Admin
from headwater.client.async_consumer import AsyncConsumer
from headwater.client.async_producer import AsyncProducer
from headwater.client.client import Client, connect
from headwater.client.connection import Options
from headwater.client.decoder import OnBad
from headwater.client.record import Headers, Receipt
from headwater.client.value_format import FormatName
from headwater.clock import Clock
from headwater.errors import HeadwaterError, InvalidRequest

if TYPE_CHECKING:
    from headwater.client.async_subscription import AsyncSubscription
    from headwater.client.async_view import AsyncView

Opened = TypeVar("Opened", bound="AsyncProducer | AsyncConsumer | AsyncSubscription")


class AsyncClient:
    """A connection to a broker; leaving its `async with` block closes what it opened.

    It takes what `connect()` takes, and gives the same promises.

        async with hw.AsyncClient() as client:
            await client.send("orders", {"id": 7, "total": 12.5}, key="7")
            async with client.consumer("orders", group="billing") as orders:
                async for record in orders:        # committed after the body returns
                    await charge(record.value)
    """

    def __init__(
        self,
        address: str | None = None,
        *,
        timeout_s: float = 10.0,
        options: Options | None = None,
        views: str | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._connect = partial(
            connect, address, timeout_s=timeout_s, options=options, views=views, clock=clock
        )
        self._connected: Client | None = None
        self._sender: AsyncProducer | None = None
        self._opened: list[AsyncProducer | AsyncConsumer | AsyncSubscription] = []

    @property
    def admin(self) -> Admin:
        """Topics and groups. These calls block: `await asyncio.to_thread(client.admin.topics.list)`."""
        return self._client.admin

    async def send(
        self,
        topic: str,
        value: Any,
        *,
        key: str | bytes | None = None,
        headers: Headers | None = None,
        timestamp: datetime | int | None = None,
        partition: int | None = None,
    ) -> Receipt:
        """Store one JSON value and wait until it is durable; None is a tombstone.

        Those that are sent at the same time (`asyncio.gather`) share their way to the broker.
        """
        if self._sender is None:
            self._sender = self.producer(linger_ms=0)
        delivery = await self._sender.send(
            topic, value, key=key, headers=headers, timestamp=timestamp, partition=partition
        )
        return await delivery.result()

    def producer(
        self,
        *,
        value_format: FormatName = "json",
        linger_ms: float = 5,
        options: Options | None = None,
    ) -> AsyncProducer:
        """A batching producer; leaving its block flushes and raises what was not delivered."""
        producer = self._client.producer(
            value_format=value_format, linger_ms=linger_ms, options=options
        )
        return self._keep(AsyncProducer(producer))

    def consumer(  # noqa: PLR0913  as in `Client`
        self,
        *topics: str,
        group: str | None = None,
        start: str | int = "start",
        until: str | int | None = None,
        partitions: Sequence[int] | None = None,
        value_format: FormatName = "json",
        on_bad: OnBad = "raise",
        options: Options | None = None,
    ) -> AsyncConsumer:
        """Read topics, as a member of `group` or alone; see `Client.consumer`."""
        open_consumer = partial(
            self._client.consumer,
            *topics,
            group=group,
            start=start,
            until=until,
            partitions=partitions,
            value_format=value_format,
            on_bad=on_bad,
            options=options,
        )
        return self._keep(AsyncConsumer(open_consumer))

    def view(self, name: str) -> "AsyncView":
        """A served view: get, rows, query, subscribe."""
        from headwater.client.async_view import AsyncView  # noqa: PLC0415  loaded by those who use it

        return AsyncView(self._client.view(name), self._keep)

    async def close(self) -> None:
        """Flush producers, leave groups; raises the first failure after everything is closed.

        It does not wait for tasks that read or send: what they use is closed under them. If who
        waits for it is cancelled, it goes on, and the next call of it waits for the same.
        """
        if self._connected is None:
            return
        self._connected.is_closed = True
        self._sender = None
        closed = await asyncio.gather(
            *(each.close() for each in self._opened), return_exceptions=True
        )
        closed += await asyncio.gather(
            asyncio.to_thread(self._connected.close), return_exceptions=True
        )
        self._opened = []
        for failure in closed:
            if failure is not None:
                raise failure

    async def __aenter__(self) -> Self:
        self._connected = await asyncio.to_thread(self._connect)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            await self.close()
        except HeadwaterError as failure:
            if error is None:
                raise
            error.add_note(f"and while leaving: {failure}")

    @property
    def _client(self) -> Client:
        if self._connected is None:
            raise InvalidRequest(
                what="the client is not connected",
                hint="use it inside of: async with hw.AsyncClient() as client",
            )
        if self._connected.is_closed:
            raise InvalidRequest(
                what="the client is closed", hint="connect again: async with hw.AsyncClient()"
            )
        return self._connected

    def _keep(self, opened: Opened) -> Opened:
        self._opened = [*(each for each in self._opened if not each.is_closed), opened]
        return opened
