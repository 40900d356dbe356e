"""What the routes work with: the followers, the threads, the limits. Made when the event loop runs."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, TypeVar

from headwater.client.client import Client
from headwater.clock import Clock
from headwater.config import ViewSettings
from headwater.errors import Corruption, Unavailable
from headwater.followers.follower import Follower
from headwater.followers.followers import Followers
from headwater.followers.store import Reader, Store
from headwater.serve.bell import Bell
from headwater.serve.broker_answers import BrokerAnswers
from headwater.serve.older_changes import OlderChanges
from headwater.serve.snapshots import Snapshots
from headwater.serve.threads import Threads
from headwater.serve.topic_feed import TopicTails
from headwater.serve.waiting import Waiting, Wish

T = TypeVar("T")

_THREADS: Final = 16
"""Of each kind: those who read stores never wait for those who ask the broker."""


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
        self.threads = Threads(_THREADS, "serve")
        broker_threads = Threads(_THREADS, "ask")
        self._broker_threads = broker_threads
        self.queries = asyncio.Semaphore(settings.max_queries)
        self.broker = BrokerAnswers(client, broker_threads)
        self.waiting = Waiting(self.broker)
        self.topic_tails = TopicTails(client, clock, settings.tail_bytes, broker_threads)
        self.older_changes = OlderChanges(client.connection, broker_threads)
        self.snapshots = Snapshots(Path(settings.data), settings.max_snapshot_bytes, self.threads)

    def watch(self, follower: Follower) -> None:
        """Let the event loop know of every commit."""
        follower.tail.listen(self.bell.ring)

    def stop(self) -> None:
        """End all subscriptions."""
        self.is_stopping = True
        self.older_changes.stop()
        self.bell.ring()

    def close(self) -> None:
        self.threads.close()
        self._broker_threads.close()

    async def wait(self, wanted: Sequence[Wish], timeout_s: float) -> None:
        """Wait for records, but never longer than the server allows."""
        longest_s = self.settings.max_wait_ms / 1000
        await self.waiting.wait(wanted, self.bell, min(timeout_s, longest_s))

    async def read(self, follower: Follower, question: Callable[[Store, Reader], T]) -> T:
        """Ask what is served; once more if it has just been replaced by a newer build."""
        served = served_of(follower)
        try:
            return await self._ask(follower, served, question)
        except Unavailable:
            if follower.served is served:  # it took too long, for example
                raise
            return await self._ask(follower, served_of(follower), question)

    async def _ask(
        self, follower: Follower, served: Store, question: Callable[[Store, Reader], T]
    ) -> T:
        try:
            return await self.threads.run(question, served, served.reader)
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
    served = follower.served
    if served is None:
        status = follower.status()
        because = f", because {status.reason}" if status.reason else ""
        raise Unavailable(
            f"view {follower.view.name!r} has not been built yet: it is {status.state}{because}",
            hint="ask again in a moment",
        )
    return served
