"""A served view for a program on asyncio: the same questions as `ServedView`, awaited."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from itertools import islice
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from headwater.client.one_thread import OneThread
from headwater.client.record import Receipt
from headwater.client.view import PAGE_ROWS, Row, ServedView, Table, ViewDetails
from headwater.client.view_subscription import Change, Subscription

T = TypeVar("T")
_OVER: Final = None


class AsyncView:
    """Questions that are asked at the same time have a connection each."""

    def __init__(self, open_view: Callable[[], ServedView]) -> None:
        self._open = open_view
        self._idle: list[ServedView] = []

    async def describe(self) -> ViewDetails:
        """The definition as it is served, its lag, and how many rows there are."""
        return await self._ask(lambda view: view.describe())

    async def get(
        self, *, wait_for: Receipt | None = None, timeout_s: float = 5.0, **key: Any
    ) -> Row | None:
        """The row of a key, or None; see `ServedView.get`."""
        return await self._ask(lambda view: view.get(wait_for=wait_for, timeout_s=timeout_s, **key))

    async def rows(
        self,
        where: str = "",
        *,
        limit: int | None = None,
        wait_for: Receipt | None = None,
        timeout_s: float = 5.0,
        **equals: Any,
    ) -> AsyncIterator[Row]:
        """The rows that match, in the order of the key, fetched page by page."""
        rows = await self._ask(
            lambda view: view.rows(
                where, limit=limit, wait_for=wait_for, timeout_s=timeout_s, **equals
            )
        )
        while page := await asyncio.to_thread(_page, rows):
            for row in page:
                yield row

    async def query(
        self,
        sql: str,
        *parameters: Any,
        limit: int | None = None,
        wait_for: Receipt | None = None,
        timeout_s: float = 5.0,
    ) -> Table:
        """One SELECT over views; see `Views.query`."""
        return await self._ask(
            lambda view: view.query(
                sql, *parameters, limit=limit, wait_for=wait_for, timeout_s=timeout_s
            )
        )

    def subscribe(
        self,
        where: str = "",
        *,
        snapshot: bool = True,
        last_id: str | None = None,
        progress: bool = False,
        **equals: Any,
    ) -> "AsyncSubscription":
        """All rows that match, then every change of them: `async for change in ...`."""
        return AsyncSubscription(
            lambda: self._open().subscribe(
                where, snapshot=snapshot, last_id=last_id, progress=progress, **equals
            )
        )

    async def _ask(self, question: Callable[[ServedView], T]) -> T:
        view = self._idle.pop() if self._idle else self._open()
        try:
            return await asyncio.to_thread(question, view)
        finally:
            self._idle.append(view)


class AsyncSubscription:
    """`async for` changes; it connects again by itself. See `Subscription`."""

    def __init__(self, open_subscription: Callable[[], Subscription]) -> None:
        self._open = open_subscription
        self._thread = OneThread("headwater-subscription")
        self._subscription: Subscription | None = None

    @property
    def last_id(self) -> str | None:
        """The id of the last event that was handed out: where to go on."""
        return None if self._subscription is None else self._subscription.last_id

    async def __aiter__(self) -> AsyncIterator[Change]:
        if self._subscription is None:
            self._subscription = await self._thread.run(self._open)
        changes = iter(self._subscription)
        try:
            while (change := await self._thread.run(partial(next, changes, _OVER))) is not _OVER:
                yield change
        finally:
            await self.close()

    async def close(self) -> None:
        """End it, also while somebody waits for a change."""
        if self._subscription is not None:
            self._subscription.close()
        await self._thread.idle()
        self._thread.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()


def _page(rows: Iterator[Row]) -> list[Row]:
    return list(islice(rows, PAGE_ROWS))
