"""From the threads that follow topics to the event loop: something has changed."""

import asyncio
import contextlib


class Bell:
    """Rung from any thread; wakes every coroutine that waits for it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._next: asyncio.Future[None] = loop.create_future()
        self._is_ringing = False

    def ring(self) -> None:
        """Many rings before the loop turns are one."""
        if self._is_ringing:
            return
        self._is_ringing = True
        with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits any more
            self._loop.call_soon_threadsafe(self._wake)

    async def wait(self, timeout_s: float) -> None:
        """Return at the next ring after this call, or when the time is over."""
        await asyncio.wait((self._next,), timeout=timeout_s)

    def _wake(self) -> None:
        # First down, then wake: a ring from now on is a new one.
        self._is_ringing = False
        rung, self._next = self._next, self._loop.create_future()
        rung.set_result(None)
