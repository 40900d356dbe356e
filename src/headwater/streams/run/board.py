"""The notice board: one compacted topic where runners say how queries do and users say what they want.

Keys are `status/<pipeline>.<query>` and `wish/<pipeline>.<query>`. So the command line needs no address
of a runner, only that of the log.
"""

import contextlib
import threading
from collections.abc import Iterable
from typing import Any, Final, Self

from headwater.client.client import Client
from headwater.clock import Clock
from headwater.errors import Conflict, HeadwaterError
from headwater.streams.run.status import STATUS_TOPIC, Status

_STATUS: Final = "status/"
_WISH: Final = "wish/"
_LOOK_S: Final = 0.5


class Board:
    """Reads and writes; one per client."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def put_up(self) -> None:
        """Create the topic where it is missing."""
        with contextlib.suppress(Conflict):
            self._client.admin.topics.create(
                STATUS_TOPIC, partitions=1, configs={"cleanup.policy": "compact"}
            )

    def publish(self, status: Status) -> None:
        self._client.send(STATUS_TOPIC, status.to_json(), key=_STATUS + status.name)

    def take_down(self, names: Iterable[str]) -> None:
        """Forget how queries did; they are on the board again once they run."""
        for name in names:
            self._client.send(STATUS_TOPIC, None, key=_STATUS + name)

    def wish(self, names: Iterable[str], *, paused: bool) -> None:
        for name in names:
            self._client.send(STATUS_TOPIC, {"paused": paused}, key=_WISH + name)

    def statuses(self) -> list[Status]:
        """The last status of every query, by name."""
        found = self._latest(_STATUS)
        return [Status.from_json(found[name]) for name in sorted(found)]

    def paused(self) -> set[str]:
        """The queries that users want to stand still."""
        return {name for name, wish in self._latest(_WISH).items() if _is_pause(wish)}

    def _latest(self, kind: str) -> dict[str, Any]:
        """The last value of each key of a kind, without those that were taken down."""
        found: dict[str, Any] = {}
        if STATUS_TOPIC not in self._client.admin.topics.names():
            return found
        with self._client.consumer(STATUS_TOPIC, until="end") as records:
            for record in records:
                key = _text(record.key)
                if key.startswith(kind):
                    found[key.removeprefix(kind)] = record.value
        return {name: value for name, value in found.items() if value is not None}

    def heard_of(self, names: Iterable[str], clock: Clock, *, within_s: float) -> set[str]:
        """Which of these queries are told of from now on: there is a runner, whatever its clock says."""
        wanted = {_STATUS + each for each in names}
        until_s = clock.monotonic_s() + within_s
        with self._client.consumer(STATUS_TOPIC, start="end", on_bad="skip") as records:
            while clock.monotonic_s() < until_s:
                keys = {_text(each.key) for each in records.poll(max_wait_s=_LOOK_S)}
                if keys & wanted:
                    return {each.removeprefix(_STATUS) for each in keys & wanted}
        return set()


class Wishes:
    """What users want of the queries, followed on a thread of its own."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._paused: set[str] = set()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._follow, name="wishes", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over.set()
        self._thread.join()

    def is_paused(self, pipeline: str, query: str) -> bool:
        return not self._paused.isdisjoint({f"{pipeline}.{query}", pipeline})

    def _follow(self) -> None:
        while not self._is_over.is_set():
            # The log may be away for a while: the last known wishes hold until it is back.
            with contextlib.suppress(HeadwaterError):
                self._read()
            self._is_over.wait(_LOOK_S)

    def _read(self) -> None:
        with self._client.consumer(STATUS_TOPIC, on_bad="skip") as records:
            while not self._is_over.is_set():
                for record in records.poll(max_wait_s=_LOOK_S):
                    key = _text(record.key)
                    if key.startswith(_WISH):
                        self._note(key.removeprefix(_WISH), record.value)

    def _note(self, name: str, value: object) -> None:
        if _is_pause(value):
            self._paused.add(name)
        else:
            self._paused.discard(name)


def _is_pause(wish: object) -> bool:
    return isinstance(wish, dict) and bool(wish.get("paused"))


def _text(key: str | bytes | None) -> str:
    return key.decode(errors="replace") if isinstance(key, bytes) else key or ""
