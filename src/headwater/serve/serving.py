"""What the routes work with: the followers, the threads, the limits. Made when the event loop runs."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from headwater.client.client import Client
from headwater.clock import Clock
from headwater.config import ViewSettings
from headwater.errors import Corruption, Unavailable
from headwater.followers.follower import Follower
from headwater.followers.followers import Followers
from headwater.followers.store import Reader, Store
from headwater.serve.bell import Bell
from headwater.serve.snapshots import Snapshots
from headwater.serve.topic_feed import TopicTails
from headwater.serve.waiting import Waiting

T = TypeVar("T")

_THREADS: Final = 16


class Serving:
    def __init__(
        self, client: Client, followers: Followers, settings: ViewSettings, clock: Clock
    ) -> None:
        self.client = client
        self.followers = followers
        self.settings = settings
        self.clock = clock
        self.bell = Bell(asyncio.get_running_loop())
        self.is_stopping = False
        self.subscribers = 0
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="headwater-serve")
        self.queries = asyncio.Semaphore(settings.max_queries)
        self.waiting = Waiting(client, self.in_thread)
        self.topic_tails = TopicTails(client, clock, settings.tail_bytes)
        self.snapshots = Snapshots(Path(settings.data), settings.max_snapshot_bytes, self.in_thread)

    def watch(self, follower: Follower) -> None:
        """Let the event loop know of every commit."""
        follower.tail.listen(self.bell.ring)

    def stop(self) -> None:
        """End all subscriptions."""
        self.is_stopping = True
        self.bell.ring()

    def close(self) -> None:
        self._threads.shutdown(cancel_futures=True)

    async def in_thread(self, function: Callable[..., T], *args: Any) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, partial(function, *args))

    def aside(self, function: Callable[[], object]) -> None:
        """Do it in a thread, and do not wait."""
        self._threads.submit(function)

    async def read(self, follower: Follower, question: Callable[[Store, Reader], T]) -> T:
        """Ask what is served; once more if it has just been replaced by a newer build."""
        try:
            return await self._ask(follower, question)
        except Unavailable:
            return await self._ask(follower, question)

    async def _ask(self, follower: Follower, question: Callable[[Store, Reader], T]) -> T:
        served = served_of(follower)
        try:
            return await self.in_thread(question, served, served.reader)
        except Corruption:
            follower.note_damage(served)
            raise

    @contextmanager
    def subscriber(self) -> Iterator[None]:
        """A place among the subscribers; raises `Unavailable` if all are taken."""
        if self.subscribers >= self.settings.max_subscribers:
            raise Unavailable(
                f"all {self.settings.max_subscribers} subscriptions are taken",
                hint="ask again later, or raise max_subscribers",
            )
        self.subscribers += 1
        try:
            yield
        finally:
            self.subscribers -= 1


def served_of(follower: Follower) -> Store:
    """Raises `Unavailable` until the view was built for the first time."""
    if follower.served is None:
        status = follower.status()
        because = f", because {status.reason}" if status.reason else ""
        raise Unavailable(
            f"view {follower.view.name!r} has not been built yet: it is {status.state}{because}",
            hint="ask again in a moment",
        )
    return follower.served
