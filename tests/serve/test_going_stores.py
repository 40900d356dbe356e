"""A store may go at any moment, on a thread of its own: who has looked at it goes on with what it saw."""

from types import SimpleNamespace
from typing import Any

from headwater.followers.follower import Follower
from headwater.followers.tail import Tail
from headwater.serve.serving import served_of
from rigs.changelog import make_view

VIEW = make_view("shop.revenue")
STORE: Any = SimpleNamespace(view=VIEW)


class Going(Follower):
    """Its store is gone once somebody has looked at it."""

    _is_there = True

    @property
    def served(self) -> Any:
        found = STORE if self._is_there else None
        self._is_there = False
        return found


def going() -> Follower:
    surroundings: Any = SimpleNamespace(client=None, shelf=None, dead_letters=None, clock=None)
    return Going(make_view("shop.revenue", version=2), surroundings, Tail())


def test_what_is_served_is_looked_at_once() -> None:
    assert served_of(going()) is STORE
    assert going().view_as_served is VIEW
