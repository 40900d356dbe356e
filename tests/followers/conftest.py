"""Followers of the broker under test (`bootstrap`, see tests/conftest.py): ours, or Apache Kafka."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headwater.client import Client
from headwater.clock import SystemClock
from headwater.followers.follower import Follower
from headwater.followers.followers import Followers
from headwater.followers.sqlite.shelf import SqliteShelf
from headwater.testing import SettableClock
from headwater.views import View
from rigs.changelog import Changelog, make_view, new_name
from rigs.client_fixtures import client

__all__ = ["client"]

WITHIN_S = 30.0


class Rig:
    """Followers that can be stopped and started again on the same directory."""

    def __init__(self, client: Client, directory: Path, clock: Any) -> None:
        self._client = client
        self._directory = directory
        self.clock = clock
        self._running: Followers | None = None
        self._shelf: SqliteShelf | None = None
        self.changed = threading.Event()
        self.on_new: Callable[[Followers, Follower], None] = lambda *_: None
        """Called for new followers of views that were asked for, not of what other tests have left."""
        self._asked_for: set[str] = set()

    def start(self) -> Followers:
        self._shelf = SqliteShelf(self._directory)
        self._running = Followers(self._client, self._shelf, self.clock)
        self._running.on_new = self._watch
        self._running.start()
        assert self._running.wait_until_read(WITHIN_S)
        return self._running

    def _watch(self, follower: Follower) -> None:
        follower.tail.listen(self.changed.set)
        assert self._running is not None
        if follower.view.name in self._asked_for:
            self.on_new(self._running, follower)

    def stop(self) -> None:
        if self._running is not None and self._shelf is not None:
            self._running.stop()
            self._shelf.close()
            self._running = None

    def follower(self, view: View) -> Follower:
        """The follower of a view, as soon as there is one."""
        self._asked_for.add(view.name)
        running = self._running or self.start()
        self.until(lambda: view.name in [each.view.name for each in running.all()])
        return running.get(view.name)

    def until(self, condition: Callable[[], Any]) -> None:
        """Look again at every commit, and a few times in between: states change without one."""
        deadline = time.monotonic() + WITHIN_S
        while not condition():
            assert time.monotonic() < deadline, "it did not happen"
            self.changed.wait(0.02)
            self.changed.clear()


@pytest.fixture
def rig(client: Client, tmp_path: Path) -> Iterator[Rig]:
    made = Rig(client, tmp_path / "views", SystemClock())
    yield made
    made.stop()


@pytest.fixture
def settable_rig(client: Client, tmp_path: Path) -> Iterator[Rig]:
    """With a clock that stands still."""
    made = Rig(client, tmp_path / "views", SettableClock(now_ms=int(time.time() * 1000)))
    yield made
    made.stop()


@pytest.fixture
def new_changelog(client: Client) -> Iterator[Callable[..., Changelog]]:
    """Make views with topics of their own; all are gone afterwards."""
    made: list[View] = []

    def create(
        partitions: int = 2, configs: dict[str, str] | None = None, **options: Any
    ) -> Changelog:
        view = make_view(new_name(), **options)
        kept = {"cleanup.policy": "compact", **(configs or {})}
        client.admin.topics.create(view.topic, partitions=partitions, replicas=1, configs=kept)
        client.admin.views.define(view)
        made.append(view)
        return Changelog(client, view)

    yield create
    for view in made:
        client.admin.views.drop(view.name)
        for topic in (view.topic, f"{view.topic}.dead"):
            if topic in client.admin.topics.names():
                client.admin.topics.delete(topic)


@pytest.fixture
def changelog(new_changelog: Callable[..., Changelog]) -> Changelog:
    return new_changelog()
