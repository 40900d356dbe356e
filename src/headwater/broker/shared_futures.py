"""Waiting for what others wait for, too: a waiter that is cancelled must not cancel it for all."""

import asyncio
from functools import partial
from typing import TypeVar

T = TypeVar("T")


async def result_of(shared: asyncio.Future[T]) -> T:
    """Wait for a shared future, and return or raise what it brings."""
    if asyncio.current_task() is None:
        return await shared  # Nobody can cancel what is no task (`stepping`).
    if not shared.done():
        own = asyncio.get_running_loop().create_future()
        shared.add_done_callback(partial(_let_go, own))
        await own
    return shared.result()


def _let_go(waiter: asyncio.Future[None], _: object) -> None:
    if not waiter.done():
        waiter.set_result(None)
