"""A thread on which an asynchronous program runs what would block it, one call after the other."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from headwater.errors import InvalidRequest

T = TypeVar("T")


class OneThread:
    """Calls are run in the order in which they come, also those that nobody waits for any more.

    Closing it puts one last call behind the one that is under way; from then on others are refused.
    """

    def __init__(self, owner: str) -> None:
        self._owner = owner
        self._executor = ThreadPoolExecutor(1, f"headwater-{owner}")
        self._newest: asyncio.Future[Any] | None = None
        self._last: asyncio.Future[None] | None = None
        self.is_closing = False
        """No more calls are taken."""
        self.is_closed = False
        """The last call has ended, and how it ended has been told."""

    async def run(self, call: Callable[[], T]) -> T:
        """What the call returns or raises; who is cancelled meanwhile does not interrupt it."""
        self.refuse_if_closing()
        running = asyncio.get_running_loop().run_in_executor(self._executor, call)
        # It is told to who waits for it; if that one was cancelled, to nobody.
        running.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        self._newest = running
        await asyncio.wait([running])
        return running.result()

    async def idle(self) -> None:
        """Wait until no call is under way."""
        while self._newest is not None and not self._newest.done():
            await asyncio.wait([self._newest])

    async def close(self, last: Callable[[], None]) -> None:
        """Run the last call, once: who comes later waits for the same one.

        Its failure is raised once as well: to the first who was not cancelled before it ended.
        """
        if not self.is_closing:
            self.is_closing = True
            self._last = asyncio.get_running_loop().run_in_executor(self._executor, last)
            self._executor.shutdown(wait=False)
        if self._last is not None:
            await asyncio.wait([self._last])
        ended, self._last = self._last, None
        self.is_closed = True
        if ended is not None:
            ended.result()

    def refuse_if_closing(self) -> None:
        if self.is_closing:
            raise InvalidRequest(
                what=f"the {self._owner} is closed", hint="use it inside its async with-block"
            )
