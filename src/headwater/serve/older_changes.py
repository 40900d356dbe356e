"""Changes that a tail does not hold any more: read from the topic, for those who are far behind.

A few consumers serve them all in turn, a portion at a time; who takes long to read one keeps no consumer.
Those who stand at the same place share what is read and what is made of it.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from headwater.client.connection import Connection
from headwater.followers.changelog import KafkaChangelog, Portions
from headwater.followers.changes import Poll, Positions
from headwater.followers.tail import Chunk, Source
from headwater.serve.shared_work import SharedWork
from headwater.serve.threads import Threads

AT_ONCE: Final = 4
PORTION: Final = Portions(records=500, bytes=256 << 10, ahead_records=2000, ahead_kbytes=1024)
_KEPT: Final = 16
"""Portions, for those who come to the same place soon after."""
_WAIT_S: Final = 0.2
_PATIENCE: Final = 25
"""So many times it is waited for the first record: a consumer must find the broker first."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where somebody is in a topic."""

    topic: str
    tag: str
    with_headers: bool
    positions: tuple[tuple[int, int], ...]

    def at(self, positions: Positions) -> "Place":
        return replace(self, positions=tuple(sorted(positions.items())))


class OlderChanges:
    """Used in the event loop; consumers wait in threads."""

    def __init__(self, connection: Connection, threads: Threads) -> None:
        self._connection = connection
        self._threads = threads
        self._room = asyncio.Semaphore(AT_ONCE)
        self._reading: SharedWork[Chunk] = SharedWork()
        self._kept: OrderedDict[Place, Chunk] = OrderedDict()
        self._idle: OrderedDict[Place, KafkaChangelog] = OrderedDict()
        self._readers = 0
        self._is_stopping = False
        self.turn = asyncio.Lock()
        """To be held while a portion is encoded: many at a time would hold up everybody else."""

    @contextmanager
    def needed(self) -> Iterator[None]:
        """When the last does not need them any more, consumers and portions go."""
        self._readers += 1
        try:
            yield
        finally:
            self._readers -= 1
            self._tidy_up()

    async def after(self, place: Place, source: Source) -> Chunk:
        """The next portion; empty at the end of the topic, or if the broker keeps silent.

        Raises `OffsetOutOfRange` or `NotFound` when the topic does not lead on from there.
        """
        kept = self._kept.get(place)
        if kept is not None:
            self._kept.move_to_end(place)
            return kept
        return await self._reading.do(place, lambda: self._read(place, source))

    def stop(self) -> None:
        self._is_stopping = True

    async def _read(self, place: Place, source: Source) -> Chunk:
        async with self._room:
            changelog = self._idle.pop(place, None)
            if changelog is None:
                changelog = await self._threads.run(self._open, place)
            try:
                poll = await self._threads.run(self._next, changelog)
            except BaseException:
                self._threads.aside(changelog.close)
                raise
        self._lay_aside(place.at(poll.next), changelog)
        chunk = Chunk(poll, source, fresh_ms=0)
        if len(poll):
            self._kept[place] = chunk
        self._tidy_up()
        return chunk

    def _open(self, place: Place) -> KafkaChangelog:
        return KafkaChangelog(
            self._connection,
            place.topic,
            dict(place.positions),
            portions=PORTION,
            with_headers=place.with_headers,
        )

    def _next(self, changelog: KafkaChangelog) -> Poll:
        for _ in range(_PATIENCE):
            poll = changelog.poll(_WAIT_S)
            if poll.next != poll.start or poll.is_caught_up or self._is_stopping:
                break
        return poll

    def _lay_aside(self, place: Place, changelog: KafkaChangelog) -> None:
        """Whoever goes on from there finds it."""
        other = self._idle.pop(place, None)
        if other is not None:
            self._threads.aside(other.close)
        self._idle[place] = changelog

    def _tidy_up(self) -> None:
        most = (AT_ONCE, _KEPT) if self._readers else (0, 0)
        while len(self._idle) > most[0]:
            self._threads.aside(self._idle.popitem(last=False)[1].close)
        while len(self._kept) > most[1]:
            self._kept.popitem(last=False)
