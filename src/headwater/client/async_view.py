"""A served view for a program on asyncio: the same questions as `ServedView`, awaited on threads."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from itertools import islice
from typing import Any

from headwater.client.async_subscription import AsyncSubscription
from headwater.client.record import Receipt
from headwater.client.view import PAGE_ROWS, Row, ServedView, Table, ViewDetails


class AsyncView:
    """Questions that are asked at the same time have a connection each."""

    def __init__(
        self, view: ServedView, keep: Callable[[AsyncSubscription], AsyncSubscription]
    ) -> None:
        self._view = view
        self._keep = keep

    async def describe(self) -> ViewDetails:
        """The definition as it is served, its lag, and how many rows there are."""
        return await asyncio.to_thread(self._view.describe)

    async def get(
        self,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        wait_for: Receipt | None = None,
        timeout_s: float = 5.0,
        **columns: Any,
    ) -> Row | None:
        """The row of a key, or None; see `ServedView.get`."""
        values = {**(key or {}), **columns}
        return await asyncio.to_thread(
            lambda: self._view.get(values, wait_for=wait_for, timeout_s=timeout_s)
        )

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
        rows = self._view.rows(where, limit=limit, wait_for=wait_for, timeout_s=timeout_s, **equals)
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
        return await asyncio.to_thread(
            self._view.query, sql, *parameters, limit=limit, wait_for=wait_for, timeout_s=timeout_s
        )

    def subscribe(
        self,
        where: str = "",
        *,
        snapshot: bool = True,
        last_id: str | None = None,
        progress: bool = False,
        **equals: Any,
    ) -> AsyncSubscription:
        """All rows that match, then every change of them: `async for change in ...`.

        It has a thread and a connection until it is closed: leave its `async with` block.
        """
        return self._keep(
            AsyncSubscription(
                # Also for those who do not want to see it: progress says where to go on.
                lambda: self._view.subscribe(
                    where, snapshot=snapshot, last_id=last_id, progress=True, **equals
                ),
                last_id=last_id,
                progress=progress,
            )
        )


def _page(rows: Iterator[Row]) -> list[Row]:
    return list(islice(rows, PAGE_ROWS))
