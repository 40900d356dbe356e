"""A coroutine that runs without a task: it begins at once, and goes on where what it awaits is done.

A task takes a turn of the event loop to begin, and is one more thing to make for every request. What runs
here cannot be cancelled, and may not ask for its task: no `asyncio.timeout`, no `asyncio.wait_for`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Steps(Generic[T]):
    """The coroutine between two of its waits."""

    __slots__ = ("_awaited", "_failed", "_finished")

    def __init__(
        self,
        awaited: Awaitable[T],
        finished: Callable[[T], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._awaited: Generator[Any, None, T] = awaited.__await__()
        self._finished = finished
        self._failed = failed

    def go_on(self, _: object = None) -> None:
        """Run until the next wait; the end is told before this returns."""
        try:
            wait: Any = self._awaited.send(None)
        except StopIteration as end:
            result: T = end.value
        except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - told to who began it
            self._failed(error)
            return
        else:
            self._continue_after(wait)
            return
        self._finished(result)

    def _continue_after(self, wait: "asyncio.Future[Any] | None") -> None:
        if wait is None:  # asyncio.sleep(0): others have their turn.
            asyncio.get_running_loop().call_soon(self.go_on)
            return
        wait._asyncio_future_blocking = False  # noqa: SLF001 - how a task says that it has taken note
        wait.add_done_callback(self.go_on)
