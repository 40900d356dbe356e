"""A thread on which an asynchronous program runs what would block it, one call after the other."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class OneThread:
    """Invariant: a call that nobody waits for any more has ended before the next one begins."""

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(1, name)
        self._under_way: asyncio.Future[Any] | None = None

    async def run(self, call: Callable[[], T]) -> T:
        """What the call returns or raises; who is cancelled meanwhile does not interrupt it."""
        await self.idle()
        self._under_way = asyncio.get_running_loop().run_in_executor(self._executor, call)
        outcome: T = await asyncio.shield(self._under_way)
        return outcome

    async def idle(self) -> None:
        """Wait until no call is under way."""
        while self._under_way is not None and not self._under_way.done():
            await asyncio.wait([self._under_way])
        if self._under_way is not None and not self._under_way.cancelled():
            self._under_way.exception()  # told to who waited for it, or to nobody
        self._under_way = None

    def close(self) -> None:
        self._executor.shutdown(wait=False)
