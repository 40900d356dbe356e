"""The loop that keeps one view equal to its topic.

read, collapse to the last change per key, apply with the positions in one transaction, tell those who
watch: over and over. A store that cannot go on from where it is, is built again from the beginning of the
topic beside the one that is served, and takes its place when it has reached the end.
"""

import contextlib
import logging
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from headwater.client.client import Client
from headwater.clock import Clock
from headwater.errors import Conflict, Corruption, HeadwaterError, NotFound
from headwater.followers.changelog import KafkaChangelog
from headwater.followers.changes import Changes, Positions, Rejected, collapser
from headwater.followers.dead_letters import DeadLetters
from headwater.followers.origin import TopicState, look_up, reason_to_rebuild
from headwater.followers.read_ahead import ReadAhead
from headwater.followers.rebuild_request import RebuildRequest
from headwater.followers.status import State, Status
from headwater.followers.store import Shelf, Store
from headwater.followers.tail import Source, Tail
from headwater.views import View

logger = logging.getLogger(__name__)

_WAIT_S: Final = 0.2
_LOOK_AT_TOPIC_S: Final = 5.0
_ASK_END_S: Final = 1.0
_NOTE_CAUGHT_UP_MS: Final = 60_000
_RETRY_S: Final = (0.1, 0.5, 1.0, 2.0, 5.0)


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all followers of a server share."""

    client: Client
    shelf: Shelf
    dead_letters: DeadLetters
    clock: Clock


class Follower:
    """Runs on a thread of its own between `start` and `stop`."""

    def __init__(self, view: View, surroundings: Surroundings, tail: Tail) -> None:
        self.view = view
        self.tail = tail
        self.wants_before = 0
        """How many watchers need to know what a row was before a change."""
        self.delete_retention_ms: int | None = None
        """How long the topic remembers that a key was deleted; None: not known yet."""
        self._client = surroundings.client
        self._shelf = surroundings.shelf
        self._dead_letters = surroundings.dead_letters
        self._clock = surroundings.clock
        self._served: Store | None = None
        self._building: Store | None = None
        self._is_stopping = threading.Event()
        self._begin_again = threading.Event()
        self._rebuild_request = RebuildRequest()
        self._damaged: Store | None = None
        self._is_paused = False
        self._standing: tuple[State, str] = ("starting", "")
        """Its state and the reason for it: one without the other would tell something else."""
        self._is_caught_up = False
        self._at: Positions = {}
        self._end: Positions = {}
        self._rejected = 0
        self._why_building = ""
        self._failures = 0
        self._last_failure = ""
        self._thread = threading.Thread(
            target=self._run, name=f"headwater-{view.name}", daemon=True
        )

    def start(self) -> None:
        self._thread.start()

    def begin_to_stop(self) -> None:
        """Stop after the batch in hand; `stop` waits for it."""
        self._is_stopping.set()
        self._begin_again.set()

    def stop(self) -> None:
        """Stop after the batch in hand and close the stores."""
        self.begin_to_stop()
        self._thread.join()
        self.tail.wake()
        for each in (self._served, self._building):
            if each is not None:
                each.close()

    def redefine(self, view: View) -> None:
        """Follow another version of the definition."""
        self.view = view
        self._begin_again.set()

    def pause(self) -> None:
        """Stop applying changes; what is served stays as it is. A restart ends it."""
        self._is_paused = True
        self._begin_again.set()

    def resume(self) -> None:
        self._is_paused = False
        self._begin_again.set()

    def rebuild(self) -> None:
        """Build the view again from the beginning of its topic."""
        self._rebuild("somebody asked for it")

    def note_damage(self, store: Store) -> None:
        """A reader has met damage where the follower itself may never look."""
        if store is self._served and store is not self._damaged:
            self._damaged = store
            logger.warning("a store is damaged", extra={"view": self.view.name})
            self._rebuild("its file is damaged")

    def _rebuild(self, reason: str) -> None:
        self._rebuild_request.make(reason)
        self._begin_again.set()

    @property
    def is_stopped(self) -> bool:
        return self._is_stopping.is_set()

    @property
    def served(self) -> Store | None:
        """What queries are answered from; None until the view was built for the first time.

        Who finds a store finds where its changes go on, and who is told by the tail finds its store.
        """
        return self._served if self.tail.now.source.tag else None

    @property
    def view_as_served(self) -> View:
        """As its rows are by now: a new version may already be defined that is still being built."""
        served = self.served
        return self.view if served is None else served.view

    def status(self) -> Status:
        served, at, end = self._served, self._at, self._end
        state, reason = self._standing
        behind = [max(0, offset - at.get(p, offset)) for p, offset in end.items()]
        lag_records = sum(behind) if behind else None
        if served is None:
            return Status(state, reason, lag_records=lag_records)
        is_current = self._is_caught_up and state == "following"
        lag_ms = 0 if is_current else max(0, self._clock.now_ms() - served.fresh_ms)
        return Status(
            state=state,
            reason=reason,
            as_of=self.tail.now.positions,
            lag_records=lag_records,
            lag_seconds=lag_ms / 1000,
            rejected=self._rejected,
        )

    # The loop.

    def _run(self) -> None:
        while not self._is_stopping.is_set():
            self._begin_again.clear()
            try:
                self._open_stores()
                if self._is_paused:
                    self._become("paused")
                    self._stand_still()
                    continue
                self._follow()
            except HeadwaterError as error:
                self._retry("failed" if isinstance(error, Conflict) else "waiting", error)
            except Exception as error:
                logger.exception("a follower failed", extra={"view": self.view.name})
                self._retry("failed", error)

    def _stand_still(self) -> None:
        """Until it goes on; what comes meanwhile counts as lag."""
        while True:
            with contextlib.suppress(HeadwaterError):
                self._end = self._client.admin.topics.ends(self.view.topic, self._at)
            if self._begin_again.wait(_ASK_END_S):
                return

    def _retry(self, state: State, error: Exception) -> None:
        reason = error.what if isinstance(error, HeadwaterError) else repr(error)
        if isinstance(error, Corruption):
            self._drop_damaged()
        if self._failures == 0 or reason != self._last_failure:
            logger.warning("a view waits", extra={"view": self.view.name, "reason": reason})
        self._last_failure = reason
        self._become(state, reason)
        pause_s = _RETRY_S[min(self._failures, len(_RETRY_S) - 1)]
        self._failures += 1
        self._begin_again.wait(pause_s)

    def _follow(self) -> None:
        topic = look_up(self._client, self.view.topic)
        self.delete_retention_ms = topic.delete_retention_ms
        store = self._store_to_follow(topic)
        changelog = KafkaChangelog(self._client.connection, store.view.topic, store.positions())
        changelog.asked_end = topic.end
        with ReadAhead(changelog, collapser(store.view)) as reading:
            state: State = "following" if store is self._served else "building"
            if not self._failures:
                self._become(state, self._why_building)
            looks = _Looks(self._clock)
            while not self._begin_again.is_set():
                changes = reading.next(_WAIT_S)
                if changes is not None:
                    self._apply(store, changes)
                    poll = changes.poll
                    if self._failures and (len(poll) or poll.is_caught_up):
                        # Only now is it over: until then it would seem to follow at every attempt.
                        self._failures = 0
                        self._become(state, self._why_building)
                    if store is self._building and changes.poll.is_caught_up:
                        self._swap(store)
                        self._become("following")
                if not self._is_caught_up and looks.is_time_for("end", _ASK_END_S):
                    changelog.asked_end = self._client.admin.topics.ends(
                        store.view.topic, topic.end
                    )
                if looks.is_time_for("topic", _LOOK_AT_TOPIC_S) and (
                    self._has_changed(topic) or changelog.unreachable
                ):
                    return

    def _apply(self, store: Store, changes: Changes) -> None:
        poll = changes.poll
        now_ms = self._clock.now_ms()
        is_news = bool(len(poll)) or poll.next != poll.start
        was_caught_up, self._is_caught_up = self._is_caught_up, poll.is_caught_up
        self._at, self._end = poll.next, poll.end
        if not is_news and poll.is_caught_up == was_caught_up and not self._is_due(store, now_ms):
            return
        is_served = store is self._served
        before = store.rows(changes.keys()) if is_served and self.wants_before else None
        rejected = store.apply(
            changes,
            caught_up_ms=now_ms if poll.is_caught_up else None,
            reject=lambda found: self._reject(store, changes, found),
        )
        if is_served:
            places = frozenset(each.place for each in rejected)
            self.tail.publish(poll, store.fresh_ms, places, before)

    def _is_due(self, store: Store, now_ms: int) -> bool:
        """Whether a view that stands still must note that it does."""
        return self._is_caught_up and now_ms - store.fresh_ms > _NOTE_CAUGHT_UP_MS

    def _reject(self, store: Store, changes: Changes, found: Sequence[Rejected]) -> None:
        self._dead_letters.write(store.view, changes.poll, found)
        self._rejected += len(found)

    def _has_changed(self, topic: TopicState) -> bool:
        try:
            found = self._client.admin.topics.identity(self.view.topic)
        except NotFound:
            return True
        return (found.id, found.partitions) != (topic.id, len(topic.start))

    # The stores.

    def _open_stores(self) -> None:
        """Find what an earlier run has left; only the newest complete store is served."""
        if self._served is not None or self._building is not None:
            return
        stores = self._shelf.stores(self.view.name)
        complete = [each for each in stores if each.is_complete]
        newest = complete[-1] if complete else None
        for each in stores:
            if each is newest:
                self._serve(each)
            elif newest is None or stores.index(each) > stores.index(newest):
                self._replace_building(each)
                self._rebuild_request.carry_on("it was being built again when the server stopped")
            else:
                self._shelf.remove(each)

    def _store_to_follow(self, topic: TopicState) -> Store:
        """The one that is served if it can go on, else one that is being built."""
        now_ms = self._clock.now_ms()
        requested, is_new_wanted = self._rebuild_request.take()
        reasons: dict[bool, str] = {}
        for each in (self._served, self._building):
            if each is not None:
                asked = requested if is_new_wanted or each is self._served else ""
                why = asked or reason_to_rebuild(each, self.view, topic, now_ms)
                if not why:
                    if each is self._served:
                        self._replace_building(None)
                    self._why_building = reasons.get(True, "")
                    return each
                reasons[each is self._served] = why
        self._why_building = reasons.get(True, "")
        logger.info("a view is built", extra={"view": self.view.name, "reason": self._why_building})
        store = self._shelf.create(self.view, topic.id, topic.start, now_ms)
        earlier = self._building or self._served
        if earlier is not None and earlier.topic_id == topic.id:
            store.remember_rejections(earlier.rejections())
        self._replace_building(store)
        return store

    def _swap(self, store: Store) -> None:
        old, self._building = self._served, None
        self._rebuild_request.fulfil()
        self._serve(store)
        if old is not None:
            self._remove(old)
        logger.info("a view was built", extra={"view": store.view.name})

    def _serve(self, store: Store) -> None:
        self._served = store
        self._rejected = len(store.rejections())
        self.tail.reset(store.positions(), Source(tag_of(store.topic_id, store.view), store.view))

    def _replace_building(self, store: Store | None) -> None:
        old, self._building = self._building, store
        if old is not None:
            self._remove(old)

    def _remove(self, store: Store) -> None:
        """Aside: the last reader may still take its time."""
        threading.Thread(target=self._shelf.remove, args=(store,), daemon=True).start()

    def _drop_damaged(self) -> None:
        """It can all be had again from the topic."""
        served, self._served = self._served, None
        self._replace_building(None)
        if served is not None:
            self._remove(served)

    def _become(self, state: State, reason: str = "") -> None:
        self._standing = (state, reason)


class _Looks:
    """What is done now and then."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._begun_s = clock.monotonic_s()
        self._last_s: dict[str, float] = {}

    def is_time_for(self, what: str, every_s: float) -> bool:
        now_s = self._clock.monotonic_s()
        is_time = now_s - self._last_s.get(what, self._begun_s) > every_s
        if is_time:
            self._last_s[what] = now_s
        return is_time


def tag_of(topic_id: str, view: View) -> str:
    """Tells this content from any other that the view may have had, and from other views of the topic."""
    return f"{topic_id}.{view.fingerprint}"
