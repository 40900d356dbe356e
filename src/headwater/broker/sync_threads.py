"""Threads that wait for the disk in place of the event loop, and call it back when a job is done."""

import asyncio
from collections import deque
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread

from headwater.log.sync_job import SyncJob

Done = Callable[[BaseException | None], None]


class SyncThreads:
    """A few threads with one queue; leaner than an executor, because every acknowledgement passes here."""

    def __init__(self, count: int) -> None:
        self._jobs: SimpleQueue[tuple[SyncJob, Done] | None] = SimpleQueue()
        self._finished: deque[tuple[Done, BaseException | None]] = deque()
        self._is_loop_told = False
        self._threads = [
            Thread(target=self._work, name=f"sync-{number}", daemon=True) for number in range(count)
        ]

    def start(self) -> None:
        """Call back the event loop that runs now."""
        self._loop = asyncio.get_running_loop()
        for each in self._threads:
            each.start()

    def stop(self) -> None:
        for _ in self._threads:
            self._jobs.put(None)
        for each in self._threads:
            each.join()

    def submit(self, job: SyncJob, done: Done) -> None:
        """Run the job; `done` is called on the event loop, with the error if there was one."""
        self._jobs.put((job, done))

    def _work(self) -> None:
        while (item := self._jobs.get()) is not None:
            job, done = item
            error: BaseException | None = None
            try:
                job.run()
            except BaseException as raised:  # noqa: BLE001 - handed to who asked, whatever it is
                error = raised
            self._finished.append((done, error))
            # To wake the loop costs more than to be found by it: jobs that end together wake it once.
            if not self._is_loop_told:
                self._is_loop_told = True
                self._loop.call_soon_threadsafe(self._deliver)
            # While it waits for the next, nobody's files stay open for it.
            del item, job, done, error

    def _deliver(self) -> None:
        self._is_loop_told = False  # Before the look: what comes after it tells the loop again.
        try:
            while self._finished:
                done, error = self._finished.popleft()
                done(error)
        finally:
            if self._finished:  # One that fails does not keep the others waiting.
                self._loop.call_soon(self._deliver)
