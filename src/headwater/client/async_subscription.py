"""A subscription as an asynchronous iterator of changes; its stream is read on a thread of its own."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from types import TracebackType
from typing import Self

from headwater.client.one_thread import OneThread
from headwater.client.view_subscription import Change, Subscription


class AsyncSubscription:
    """`async for` changes, in one task at a time; it connects again by itself. See `Subscription`.

    A loop goes on where the one before was left; a change that came for a task that was cancelled
    meanwhile is the first of the next loop. Closing it ends the iteration.
    """

    def __init__(
        self, open_subscription: Callable[[], Subscription], *, last_id: str | None, progress: bool
    ) -> None:
        self._open = open_subscription
        self._wants_progress = progress
        self._thread = OneThread("subscription")
        self._subscription: Subscription | None = None
        self._changes: Iterator[Change] | None = None
        self._coming: asyncio.Task[Change | None] | None = None
        self._is_ending = False
        self.last_id = last_id
        """The id of the last event that was handed out: where to go on."""

    @property
    def is_closed(self) -> bool:
        return self._thread.is_closed

    async def __aiter__(self) -> AsyncIterator[Change]:
        while (change := await self._next()) is not None:
            self.last_id = change.id
            if change.kind != "progress" or self._wants_progress:
                yield change

    async def close(self) -> None:
        """End it, also while somebody waits for a change."""
        self._is_ending = True
        if self._subscription is not None:
            self._subscription.close()
        await self._thread.close(self._end)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def _next(self) -> Change | None:
        if self._coming is None:
            if self._is_ending:
                return None
            self._coming = asyncio.ensure_future(self._thread.run(self._read))
        await asyncio.wait([self._coming])  # who is cancelled here leaves it to the next
        come, self._coming = self._coming, None
        return come.result()

    # On the thread.

    def _read(self) -> Change | None:
        if self._subscription is None:
            self._subscription = self._open()
        if self._is_ending:
            return None  # closed before there was something to close
        if self._changes is None:
            self._changes = iter(self._subscription)
        try:
            return next(self._changes, None)
        except BaseException:
            self._changes = None  # the next loop connects again
            raise

    def _end(self) -> None:
        if self._subscription is not None:
            self._subscription.close()
