"""Several wait for one sync: each is answered, whatever becomes of the others."""

import asyncio

import pytest

from headwater.broker.shared_futures import result_of
from headwater.errors import StorageFailed


async def waiting_for(shared: asyncio.Future[int]) -> asyncio.Task[int]:
    """A waiter that has begun to wait."""
    task = asyncio.create_task(result_of(shared))
    await asyncio.sleep(0)
    return task


def test_a_waiter_that_is_cancelled_leaves_the_others_waiting() -> None:
    async def run() -> None:
        shared = asyncio.get_running_loop().create_future()
        leaving, staying = await waiting_for(shared), await waiting_for(shared)
        leaving.cancel()
        with pytest.raises(asyncio.CancelledError):
            await leaving
        assert not shared.done()
        shared.set_result(7)
        assert await staying == 7

    asyncio.run(run())


def test_a_failure_reaches_all_who_wait_and_who_come_later() -> None:
    async def run() -> None:
        shared = asyncio.get_running_loop().create_future()
        waiters = [await waiting_for(shared) for _ in range(2)]
        shared.set_exception(StorageFailed("the disk is gone"))
        for each in [*waiters, await waiting_for(shared)]:
            with pytest.raises(StorageFailed, match="the disk is gone"):
                await each

    asyncio.run(run())
