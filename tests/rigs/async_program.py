"""Programs on asyncio that use a client of the broker under test."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import headwater
from headwater.client import AsyncClient

Program = Callable[[AsyncClient], Awaitable[Any]]
Run = Callable[[Program], Any]


@pytest.fixture
def run(bootstrap: str) -> Run:
    """Run a program with a client of its own."""

    async def connected(program: Program) -> Any:
        async with headwater.AsyncClient(bootstrap, timeout_s=15) as client, asyncio.timeout(60):
            return await program(client)

    return lambda program: asyncio.run(connected(program))


async def begin(call: Awaitable[Any]) -> "asyncio.Future[Any]":
    """A task that is under way: what it asks of a thread has been asked."""
    task = asyncio.ensure_future(call)
    await asyncio.sleep(0)
    return task


async def cancel(task: "asyncio.Future[Any]") -> None:
    """Cancel it, and see that it has ended."""
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
