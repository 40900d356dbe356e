"""Threads that sync: every job is reported to the event loop, once, whatever ends beside it."""

import asyncio
from collections.abc import Awaitable, Callable
from threading import Barrier
from typing import Any

import pytest

from headwater.broker.sync_threads import SyncThreads
from headwater.log.disk import LocalDisk
from headwater.log.sync_job import SyncJob

THREADS = 8


class Job(SyncJob):
    """A sync of no files that does something else."""

    def __init__(self, act: Callable[[], object] = lambda: None) -> None:
        super().__init__(LocalDisk(), [], [], 0, [], None)
        self._act = act

    def run(self) -> None:
        self._act()


def with_threads(use: Callable[[SyncThreads], Awaitable[None]]) -> None:
    async def main() -> None:
        threads = SyncThreads(THREADS)
        threads.start()
        try:
            await asyncio.wait_for(use(threads), 30)
        finally:
            threads.stop()

    asyncio.run(main())


class Outcomes:
    """What the loop was told, by job."""

    def __init__(self, count: int) -> None:
        self.found: list[tuple[int, BaseException | None]] = []
        self.are_complete = asyncio.Event()
        self._count = count

    def of(self, number: int) -> Callable[[BaseException | None], None]:
        def note(error: BaseException | None) -> None:
            self.found.append((number, error))
            if len(self.found) == self._count:
                self.are_complete.set()

        return note


def test_no_job_is_forgotten_or_reported_twice() -> None:
    async def use(threads: SyncThreads) -> None:
        outcomes = Outcomes(20_000)
        for number in range(20_000):
            threads.submit(Job(), outcomes.of(number))
            if number % 50 == 0:
                await asyncio.sleep(0)  # Lets some end while the loop looks, some while it is away.
        await outcomes.are_complete.wait()
        await asyncio.sleep(0)
        assert sorted(number for number, _ in outcomes.found) == list(range(20_000))

    with_threads(use)


def test_an_error_goes_to_who_asked() -> None:
    broken = OSError("Input/output error")

    def fail() -> None:
        raise broken

    async def use(threads: SyncThreads) -> None:
        outcomes = Outcomes(2)
        threads.submit(Job(fail), outcomes.of(0))
        threads.submit(Job(), outcomes.of(1))
        await outcomes.are_complete.wait()
        assert dict(outcomes.found) == {0: broken, 1: None}

    with_threads(use)


def test_jobs_that_end_together_do_not_each_wake_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    async def use(threads: SyncThreads) -> None:
        loop = asyncio.get_running_loop()
        wakes: list[object] = []
        wake = loop.call_soon_threadsafe

        def counted(callback: Callable[..., object], *arguments: Any) -> asyncio.Handle:
            wakes.append(callback)
            return wake(callback, *arguments)

        monkeypatch.setattr(loop, "call_soon_threadsafe", counted)
        together = Barrier(THREADS)
        outcomes = Outcomes(THREADS)
        for number in range(THREADS):
            threads.submit(Job(together.wait), outcomes.of(number))
        threads.stop()  # Waits for all of them, on this very loop: it looks at none before.
        await outcomes.are_complete.wait()
        assert 1 <= len(wakes) < THREADS

    with_threads(use)


def test_a_callback_that_fails_keeps_none_of_the_others_waiting() -> None:
    async def use(threads: SyncThreads) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)
        outcomes = Outcomes(2)

        def fail(_: BaseException | None) -> None:
            raise RuntimeError("a callback failed")

        for done in (outcomes.of(0), fail, outcomes.of(1)):
            threads.submit(Job(), done)
        threads.stop()  # All have ended before the loop looks.
        await outcomes.are_complete.wait()
        assert sorted(number for number, _ in outcomes.found) == [0, 1]

    with_threads(use)
