"""A store may go at any moment, on a thread of its own: who has looked at it goes on with what it saw."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headwater.client import Client
from headwater.clock import SystemClock
from headwater.config import ViewSettings
from headwater.errors import TimedOut, Unavailable
from headwater.followers.follower import Follower
from headwater.followers.tail import Tail
from headwater.serve.serving import Serving, served_of
from rigs.changelog import make_view

VIEW = make_view("shop.revenue")
STORE: Any = SimpleNamespace(view=VIEW, reader=None)
NEWER: Any = SimpleNamespace(view=VIEW, reader=None)


class Going(Follower):
    """Its store is gone once somebody has looked at it."""

    _is_there = True

    @property
    def served(self) -> Any:
        found = STORE if self._is_there else None
        self._is_there = False
        return found


def nowhere() -> Any:
    return SimpleNamespace(client=None, shelf=None, dead_letters=None, clock=None)


def going() -> Follower:
    return Going(make_view("shop.revenue", version=2), nowhere(), Tail())


def test_what_is_served_is_looked_at_once() -> None:
    assert served_of(going()) is STORE
    assert going().view_as_served is VIEW


def ask(client: Client, directory: Path, served: list[Any], question: Callable[..., Any]) -> Any:
    """Ask a view of which this is served, one after the other."""

    class Replaced(Follower):
        @property
        def served(self) -> Any:
            return served.pop(0) if len(served) > 1 else served[0]

    async def read() -> Any:
        nobody: Any = None
        serving = Serving(client, nobody, ViewSettings(data=str(directory)), SystemClock())
        try:
            return await serving.read(Replaced(VIEW, nowhere(), Tail()), question)
        finally:
            serving.close()

    return asyncio.run(read())


def test_a_newer_build_is_asked_once_more(client: Client, tmp_path: Path) -> None:
    def question(store: Any, _: Any) -> str:
        if store is STORE:
            raise Unavailable("the view has just been built anew")
        return "found"

    assert ask(client, tmp_path, [STORE, NEWER], question) == "found"


def test_what_took_too_long_is_not_done_again(client: Client, tmp_path: Path) -> None:
    asked = []

    def question(store: Any, _: Any) -> None:
        asked.append(store)
        raise TimedOut("it took longer than 5 s")

    with pytest.raises(TimedOut):
        ask(client, tmp_path, [STORE], question)
    assert asked == [STORE]
