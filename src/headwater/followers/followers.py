"""All followers of a server: one for every view that is defined, for as long as it is."""

import logging
import threading
from collections.abc import Callable
from contextlib import suppress
from difflib import get_close_matches
from typing import Final

from headwater.client.address import refuse_if_unreachable
from headwater.client.client import Client
from headwater.clock import Clock
from headwater.errors import HeadwaterError, NotFound, Unavailable
from headwater.followers.changelog import KafkaChangelog
from headwater.followers.changes import Poll
from headwater.followers.dead_letters import DeadLetters
from headwater.followers.follower import Follower, Surroundings
from headwater.followers.origin import look_up
from headwater.followers.store import Shelf
from headwater.followers.tail import KEPT_BYTES, Tail
from headwater.views import DEFINITIONS_TOPIC, View, decode_definition

logger = logging.getLogger(__name__)

_WAIT_S: Final = 0.1
_RETRY_S: Final = 1.0
_LOOK_AT_TOPIC_S: Final = 5.0


class Followers:
    """Follows the topic of the definitions on a thread of its own."""

    def __init__(
        self, client: Client, shelf: Shelf, clock: Clock, *, tail_bytes: int = KEPT_BYTES
    ) -> None:
        self._client = client
        self._shelf = shelf
        self._clock = clock
        self._surroundings = Surroundings(client, shelf, DeadLetters(client), clock)
        self._tail_bytes = tail_bytes
        self._followers: dict[str, Follower] = {}
        self._is_stopping = threading.Event()
        self._is_read = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headwater-views", daemon=True)
        self.on_new: Callable[[Follower], None] = lambda _: None
        """Called with every follower before it starts."""
        self.reason = "the definitions are being read"
        """Why the definitions are not up to date; empty if they are."""

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._is_stopping.set()
        for each in self.all():
            each.begin_to_stop()
        self._thread.join()
        for each in self._followers.values():
            each.stop()
        self._followers.clear()

    def wait_until_read(self, timeout_s: float) -> bool:
        """Whether all definitions that were there at the start are known."""
        return self._is_read.wait(timeout_s)

    def all(self) -> list[Follower]:
        now = self._followers.copy()  # views come and go on another thread
        return [now[name] for name in sorted(now)]

    def get(self, name: str) -> Follower:
        found = self._followers.get(name)
        if found is None and self.reason:
            raise Unavailable(f"view {name!r} is not known yet: {self.reason}", hint="ask again")
        if found is None:
            near = get_close_matches(name, list(self._followers), n=1)
            raise NotFound(
                f"there is no view {name!r}",
                hint=f"did you mean {near[0]!r}?" if near else "see the views: headwater view list",
            )
        return found

    def _run(self) -> None:
        while not self._is_stopping.is_set():
            try:
                self._follow_definitions()
            except HeadwaterError as error:
                if error.what != self.reason and not self._is_stopping.is_set():
                    logger.warning("definitions cannot be read", extra={"reason": error.what})
                self._retry(error.what)
            except Exception as error:  # without this thread no view would ever be new, or go
                logger.exception("the definitions cannot be followed")
                self._retry(repr(error))

    def _retry(self, reason: str) -> None:
        self.reason = reason
        if not self._is_read.is_set():
            self._begin_with_what_is_kept()
        self._is_stopping.wait(_RETRY_S)

    def _begin_with_what_is_kept(self) -> None:
        """While nobody can say what is defined, views are served as they were when they were built."""
        for name in self._shelf.names():
            if name not in self._followers:
                with suppress(HeadwaterError):
                    stores = self._shelf.stores(name)
                    complete = [each.view for each in stores if each.is_complete]
                    for each in stores:
                        each.close()
                    if complete:
                        self._begin(complete[-1])

    def _follow_definitions(self) -> None:
        """From the beginning each time: there are few, and only the last of each name counts."""
        refuse_if_unreachable(self._client.connection.address)
        self._client.admin.views.prepare()
        topic = look_up(self._client, DEFINITIONS_TOPIC)
        changelog = KafkaChangelog(self._client.connection, DEFINITIONS_TOPIC, topic.start)
        changelog.asked_end = topic.end
        defined: dict[str, View] = {}
        looked_s = self._clock.monotonic_s()
        is_complete = False
        try:
            while not self._is_stopping.is_set():
                poll = changelog.poll(_WAIT_S)
                self._take_in(poll, defined)
                is_complete = is_complete or poll.is_caught_up
                if is_complete and (len(poll) or self.reason):
                    self._make_it_so(defined)
                if self._clock.monotonic_s() - looked_s > _LOOK_AT_TOPIC_S:
                    looked_s = self._clock.monotonic_s()
                    if self._client.admin.topics.id(DEFINITIONS_TOPIC) != topic.id:
                        return
        finally:
            changelog.close()

    def _take_in(self, poll: Poll, defined: dict[str, View]) -> None:
        for key, value in zip(poll.keys, poll.values, strict=True):
            name = (key or b"").decode(errors="replace")
            if value is None:
                defined.pop(name, None)
                continue
            try:
                view = decode_definition(value)
            except HeadwaterError as error:
                logger.warning(
                    "a definition is left out", extra={"view": name, "reason": error.what}
                )
                continue
            if view.name != name:  # removing either name would leave the other half of it
                logger.warning(
                    "a definition is left out",
                    extra={"view": name, "reason": "its key is not its name"},
                )
                continue
            defined[view.name] = view

    def _make_it_so(self, defined: dict[str, View]) -> None:
        for name in [each for each in self._followers if each not in defined]:
            self._followers.pop(name).stop()
        for name in set(self._shelf.names()) - set(defined):
            for store in self._shelf.stores(name):
                self._shelf.remove(store)
        for name, view in defined.items():
            follower = self._followers.get(name)
            if follower is None:
                self._begin(view)
            elif follower.view != view:
                follower.redefine(view)
        self.reason = ""
        self._is_read.set()

    def _begin(self, view: View) -> None:
        follower = Follower(view, self._surroundings, Tail(self._tail_bytes))
        self.on_new(follower)
        self._followers[view.name] = follower
        follower.start()
