"""Threads for what blocks, so that the event loop does not."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

T = TypeVar("T")


class Threads:
    def __init__(self, count: int, name: str) -> None:
        self._pool = ThreadPoolExecutor(count, thread_name_prefix=f"headwater-{name}")

    async def run(self, function: Callable[..., T], *args: Any) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, partial(function, *args))

    def aside(self, function: Callable[[], object]) -> None:
        """Do it, and do not wait; after `close` it is left to the end of the process."""
        with suppress(RuntimeError):
            self._pool.submit(function)

    def close(self) -> None:
        """Wait for what is being done; what has not been begun never will be."""
        self._pool.shutdown(cancel_futures=True)
