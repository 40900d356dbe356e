"""One subscription: snapshot, then every change exactly once, and progress while nothing happens.

Its whole memory is a position: what it sends comes from the shared tail, from the topic where the tail
does not reach back far enough, or from the file of a snapshot. So a slow reader costs nobody anything;
when it has fallen off the tail it is told so, and begins again.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Final, Protocol, TypeVar

from headwater.client.record_json import as_json
from headwater.errors import HeadwaterError, NotFound, OffsetOutOfRange, Unavailable
from headwater.followers.changes import Positions
from headwater.followers.tail import CHUNK_RECORDS, Chunk, Mark, Tail
from headwater.serve.event_ids import EventId
from headwater.serve.events import PIECE_BYTES, SIGN_OF_LIFE, event
from headwater.serve.failures import content_of
from headwater.serve.older_changes import Place
from headwater.serve.serving import Serving
from headwater.serve.shared_work import started
from headwater.serve.snapshots import Spool

T = TypeVar("T")

HEARTBEAT_S: Final = 10.0
_LOOK_S: Final = 1.0
"""How soon a reader that waits for its turn finds out that the server stops."""
_AT_END_S: Final = 0.5
"""How soon a reader that is at the end of the topic, but not yet in the tail, looks again."""


class Feed(Protocol):
    """What is subscribed to: a view, a topic, or what a filter picks of it."""

    @property
    def tail(self) -> Tail: ...
    @property
    def topic(self) -> str: ...
    @property
    def with_headers(self) -> bool: ...

    @property
    def has_snapshot(self) -> bool:
        """Whether a reader that begins again gets what it has missed."""

    @property
    def is_over(self) -> bool:
        """Whether nothing will come any more."""

    @property
    def fresh_ms(self) -> int:
        """When the end of the tail last was the end of the topic."""

    @property
    def needs_before(self) -> bool:
        """Whether what an event is depends on the row that was there before."""

    def encode(self, chunk: Chunk, since: Positions, *, is_sure: bool) -> list[bytes]:
        """The events of a chunk, for a reader that has everything before `since`.

        If it is not sure, it may have another row than the view had before these changes.
        """

    async def snapshot(self) -> Spool | None:
        """Where a reader without a position begins; None: with what comes next."""

    def reason_to_resync(self, last: EventId, now_ms: int) -> str:
        """Why a reader cannot go on after this event; empty if it can."""


class Subscription:
    def __init__(self, feed: Feed, serving: Serving, last: EventId | None) -> None:
        self._feed = feed
        self._serving = serving
        self._last = last
        self._at = feed.tail.now
        """The source, and the positions up to which the reader has everything."""
        self._fresh_ms = 0
        """When these positions last were the end of the topic: no deletion after it may be missed."""
        self._unsure_until: Positions | None = {}
        """Who reads the topic itself does not see what compaction has removed, and may keep a row that the
        view has not; but what replaced it lies before the end that the topic had then. None: not known."""
        self._learning: asyncio.Task[None] | None = None
        self._said_s = asyncio.get_running_loop().time()
        """When the reader was last told anything."""

    async def stream(self) -> AsyncGenerator[bytes]:
        """Pieces of events, until the reader leaves, the server stops or there is nothing more."""
        try:
            async for piece in self._events():
                yield piece
                self._said_s = asyncio.get_running_loop().time()
        except HeadwaterError as error:
            yield event("failed", as_json(content_of(error)["error"]))

    async def _events(self) -> AsyncGenerator[bytes]:
        async for piece in self._begin():
            yield piece
        while not self._is_over:
            async for piece in self._go_on():
                yield piece

    @property
    def _is_over(self) -> bool:
        return self._serving.is_stopping or self._feed.is_over

    async def _begin(self) -> AsyncGenerator[bytes]:
        if self._last is None:
            async for piece in self._start_over():
                yield piece
            return
        why = self._feed.reason_to_resync(self._last, self._serving.clock.now_ms())
        if not why:
            ahead = self._ahead_of_this_server(self._last.positions)
            at_ms = self._last.at_ms
            self._fresh_ms = self._serving.clock.now_ms() if at_ms is None else at_ms
            self._move_to({**self._unnamed(self._last), **self._last.positions})
            if ahead:
                asked = started(self._beyond_the_topic(ahead))
                async for piece in self._signs_of_life(asked, self._progress):
                    yield piece
                if self._is_over:
                    return
                why = asked.result()
        if why:
            async for piece in self._resync(why):
                yield piece
        else:
            self._learn_end_of_topic()

    def _unnamed(self, last: EventId) -> Positions:
        """Where partitions begin that an id does not name: of one of ours, they are younger than it."""
        here = self._at.positions
        return here if last.tag is None else dict.fromkeys(here, 0)

    def _ahead_of_this_server(self, positions: Positions) -> Positions:
        here = self._at.positions
        return {partition: at for partition, at in positions.items() if at > here.get(partition, 0)}

    async def _beyond_the_topic(self, positions: Positions) -> str:
        """Another server may have been ahead of this one, but none is ahead of the topic."""
        ends = await self._serving.broker.ends(self._feed.topic, sorted(positions))
        beyond = any(at > ends[partition] for partition, at in positions.items())
        return "it lies past the end of the topic" if beyond else ""

    async def _go_on(self) -> AsyncGenerator[bytes]:
        """From the tail if it reaches back far enough, else from the topic until it does."""
        if self._at.source.tag != self._feed.tail.now.source.tag:
            async for piece in self._resync("it was built anew"):
                yield piece
        mark = self._feed.tail.find(self._at.positions)
        if mark is None and (why := self._too_far_back()):
            async for piece in self._resync(why):
                yield piece
            return
        try:
            async for piece in self._catch_up() if mark is None else self._live(mark):
                yield piece
        except (OffsetOutOfRange, NotFound):
            async for piece in self._resync("the changes that come next are gone from the topic"):
                yield piece

    def _too_far_back(self) -> str:
        """Why the topic does not lead on from where the reader is; empty if it does."""
        here = EventId(self._at.positions, self._fresh_ms, self._at.source.tag)
        return self._feed.reason_to_resync(here, self._serving.clock.now_ms())

    async def _live(self, mark: Mark) -> AsyncGenerator[bytes]:
        """What the tail has, and what comes; returns when the tail begins anew."""
        tail = self._feed.tail
        while not self._is_over and mark.epoch == tail.now.epoch:
            try:
                mark, pieces = self._take(mark)
            except OffsetOutOfRange:
                if self._feed.has_snapshot:
                    async for piece in self._resync("it was read slower than changes arrived"):
                        yield piece
                return  # without one it would miss changes that the topic still has
            if pieces:
                yield pieces[0] if len(pieces) == 1 else b"".join(pieces)
            elif (silent_s := self._may_be_silent_s()) <= 0:
                fresh_ms, now = self._feed.fresh_ms, tail.now
                if (now.epoch, now.number) == (mark.epoch, mark.number):
                    self._fresh_ms = max(self._fresh_ms, fresh_ms)
                    self._move_on_to(now.positions)  # and over offsets without records
                yield self._progress()
            elif mark.number < tail.now.number:
                await asyncio.sleep(0)  # much went by that the filter does not let through
            else:
                await self._serving.bell.wait(silent_s)

    def _may_be_silent_s(self) -> float:
        """How long, before the reader must be given a sign of life."""
        return self._said_s + HEARTBEAT_S - asyncio.get_running_loop().time()

    def _take(self, mark: Mark) -> tuple[Mark, list[bytes]]:
        """The next events, up to the size of a piece, of no more records than others can wait for."""
        pieces: list[bytes] = []
        size = records = 0
        while size < PIECE_BYTES and records < CHUNK_RECORDS:
            chunk = self._feed.tail.at(mark)
            if chunk is None:
                break
            is_sure = self._is_sure_of(chunk)
            found = self._feed.encode(chunk, self._at.positions, is_sure=is_sure)
            pieces += found
            size += sum(map(len, found))
            records += len(chunk.poll)
            mark = mark.next(chunk)
            self._pass(chunk)
        return mark, pieces

    async def _catch_up(self) -> AsyncGenerator[bytes]:
        """Read the topic from where the reader is, until the tail reaches back to it."""
        older, tail = self._serving.older_changes, self._feed.tail
        with older.needed():
            while not self._is_over and tail.find(self._at.positions) is None:
                asked = started(self._older())
                async for piece in self._signs_of_life(asked, self._progress):
                    yield piece
                if self._is_over:
                    return
                chunk = replace(asked.result(), fresh_ms=self._fresh_ms)
                async with older.turn:
                    pieces = self._feed.encode(chunk, self._at.positions, is_sure=False)
                    await asyncio.sleep(0)
                for piece in pieces:
                    yield piece
                self._pass(chunk)
                # Much may be read that the filter does not let through.
                if self._may_be_silent_s() <= 0:
                    yield self._progress()
                if not len(chunk.poll):
                    await self._serving.bell.wait(_AT_END_S)
        self._learn_end_of_topic()

    async def _signs_of_life(
        self, asked: asyncio.Task[T], sign: Callable[[], bytes]
    ) -> AsyncGenerator[bytes]:
        """Now and then, until this is done or the stream is over."""
        try:
            while not await self._is_soon_done(asked) and not self._is_over:
                yield sign()
        finally:
            asked.cancel()

    async def _is_soon_done(self, asked: asyncio.Task[T]) -> bool:
        """Whether it is, before the reader must be given a sign of life."""
        while not (asked.done() or self._is_over or (silent_s := self._may_be_silent_s()) <= 0):
            await asyncio.wait([asked], timeout=min(_LOOK_S, silent_s))
        return asked.done()

    async def _older(self) -> Chunk:
        feed, at = self._feed, self._at
        place = Place(feed.topic, at.source.tag, feed.with_headers, ()).at(at.positions)
        return await self._serving.older_changes.after(place, at.source)

    def _learn_end_of_topic(self) -> None:
        """Aside, for a broker may take its time: until it has said where that is, nothing is sure."""
        self._unsure_until = {}
        if self._feed.needs_before:
            self._unsure_until = None
            self._learning = started(self._note_end_of_topic())

    async def _note_end_of_topic(self) -> None:
        with suppress(Unavailable, NotFound):
            ends = self._serving.broker.ends(self._feed.topic, sorted(self._at.positions))
            self._unsure_until = await ends

    def _is_sure_of(self, chunk: Chunk) -> bool:
        unsure_until, start = self._unsure_until, chunk.poll.start
        return unsure_until is not None and all(
            start.get(partition, 0) >= at for partition, at in unsure_until.items()
        )

    async def _resync(self, why: str) -> AsyncGenerator[bytes]:
        """Tell the reader to forget everything, the last id too, and begin again."""
        yield event("resync", as_json({"reason": why}), id_text="")
        async for piece in self._start_over():
            yield piece

    async def _start_over(self) -> AsyncGenerator[bytes]:
        self._unsure_until = {}
        self._fresh_ms, now = self._feed.fresh_ms, self._feed.tail.now
        asked = started(self._feed.snapshot())
        async for piece in self._signs_of_life(asked, lambda: SIGN_OF_LIFE):
            yield piece
        if self._is_over:
            return
        spool = asked.result()
        if spool is None:
            self._at = now
        else:
            self._fresh_ms = spool.fresh_ms
            for piece in spool.pieces():
                yield piece
            self._at = replace(now, positions=spool.as_of, source=spool.source)
        yield self._progress()

    def _pass(self, chunk: Chunk) -> None:
        self._fresh_ms = chunk.fresh_ms
        self._move_on_to(chunk.poll.next)

    def _move_on_to(self, positions: Positions) -> None:
        """They only ever grow: a reader that reads the topic itself may be ahead of the follower."""
        before = self._at.positions
        self._move_to({p: max(at, before.get(p, 0)) for p, at in positions.items()})

    def _move_to(self, positions: Positions) -> None:
        self._at = replace(self._at, positions={**self._at.positions, **positions})

    def _progress(self) -> bytes:
        at = self._at
        event_id = EventId(at.positions, self._fresh_ms, at.source.tag)
        as_of = {str(partition): offset for partition, offset in at.positions.items()}
        return event("progress", as_json({"as_of": as_of}), str(event_id))
