"""What subscribers of a plain topic see: its records, from now on or from where they were."""

import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import asynccontextmanager
from typing import Final

from headwater.client.client import Client
from headwater.client.record import Record, decode_text
from headwater.client.record_json import as_json, readable
from headwater.clock import Clock
from headwater.errors import HeadwaterError, Unavailable
from headwater.followers.changelog import KafkaChangelog
from headwater.followers.changes import Positions
from headwater.followers.origin import look_up
from headwater.followers.tail import Chunk, Source, Tail
from headwater.serve.event_ids import EventId
from headwater.serve.events import event, in_pieces
from headwater.serve.shared_work import SharedWork
from headwater.serve.snapshots import Spool
from headwater.serve.threads import Threads

RecordTest = Callable[[Record], bool]

_WAIT_S: Final = 0.2
_LOOK_AT_TOPIC_S: Final = 5.0


class TopicTail:
    """One reader of a topic for all its subscribers, on a thread, while there are any."""

    def __init__(self, topic: str, client: Client, clock: Clock, kept_bytes: int) -> None:
        self.topic = topic
        self.tail = Tail(kept_bytes)
        self.readers = 0
        self.failure: HeadwaterError | None = None
        self._client = client
        self.clock = clock
        self._is_stopping = threading.Event()
        found = look_up(client, topic)
        self._start: Positions = found.end
        self.tail.reset(found.end, Source(found.id))
        self._thread = threading.Thread(target=self._run, name=f"headwater-{topic}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def is_over(self) -> bool:
        return self.failure is not None or self._is_stopping.is_set()

    def begin_to_stop(self) -> None:
        """Stop after the poll in hand; `stop` waits for it."""
        self._is_stopping.set()

    def stop(self) -> None:
        self.begin_to_stop()
        self._thread.join()

    def _run(self) -> None:
        try:
            self._follow()
        except HeadwaterError as error:
            self.failure = error
            self.tail.wake()

    def _follow(self) -> None:
        start = self._start
        while not self._is_stopping.is_set():
            start = self._read_from(start)

    def _read_from(self, start: Positions) -> Positions:
        """Until the topic has more partitions; returns where to go on: in those from their beginning."""
        changelog = KafkaChangelog(self._client.connection, self.topic, start, with_headers=True)
        looked_s = self.clock.monotonic_s()
        try:
            while not self._is_stopping.is_set():
                poll = changelog.poll(_WAIT_S)
                start = poll.next
                if poll.next != poll.start:
                    self.tail.publish(poll, self.clock.now_ms())
                if self.clock.monotonic_s() - looked_s > _LOOK_AT_TOPIC_S:
                    looked_s = self.clock.monotonic_s()
                    partitions = self._partitions()
                    if partitions > len(start):
                        return {**dict.fromkeys(range(partitions), 0), **start}
        finally:
            changelog.close()
        return start

    def _partitions(self) -> int:
        """How many there are by now; raises if it is not the topic that it was."""
        found = self._client.admin.topics.identity(self.topic)
        if found.id != self.tail.now.source.tag:
            raise HeadwaterError(f"topic {self.topic!r} was deleted and made anew")
        return found.partitions


class TopicFeed:
    """The records of a topic, or those that a filter picks."""

    with_headers = True
    has_snapshot = False
    needs_before = False

    def __init__(self, shared: TopicTail, where_text: str, matches: RecordTest | None) -> None:
        self._shared = shared
        self._where_text = where_text
        self._matches = matches

    @property
    def tail(self) -> Tail:
        return self._shared.tail

    @property
    def topic(self) -> str:
        return self._shared.topic

    @property
    def is_over(self) -> bool:
        if self._shared.failure is not None:
            raise self._shared.failure
        return False

    @property
    def fresh_ms(self) -> int:
        return self._shared.clock.now_ms()

    async def snapshot(self) -> Spool | None:
        return None

    def reason_to_resync(self, last: EventId, now_ms: int) -> str:
        del now_ms
        now = self.tail.now
        if last.tag is not None and last.tag != now.source.tag:
            return "the topic was made anew"
        if not set(last.positions) <= set(now.positions):
            if last.tag is not None:  # it has more by now, and another server was told so first
                raise Unavailable(f"topic {self.topic!r} has new partitions", hint="ask again")
            return "the topic does not have these partitions"
        return ""

    def encode(self, chunk: Chunk, since: Positions, *, is_sure: bool) -> list[bytes]:
        del is_sure
        if dict(since) != dict(chunk.poll.start):
            return list(in_pieces(self._events(chunk, since)))
        name = (self._where_text, chunk.fresh_ms)
        pieces: list[bytes] | None = chunk.shared.get(name)
        if pieces is None:
            pieces = list(in_pieces(self._events(chunk, since)))
            chunk.share(name, pieces)
        return pieces

    def _events(self, chunk: Chunk, since: Positions) -> Iterator[bytes]:
        positions = dict(since)
        for record in _records(self.topic, chunk):
            if record.offset < positions.get(record.partition, 0):
                continue
            if self._matches is None or self._matches(record):
                positions[record.partition] = record.offset + 1
                event_id = EventId(positions, chunk.fresh_ms, chunk.source.tag)
                yield event("record", as_json(readable(record)), str(event_id))


def _records(topic: str, chunk: Chunk) -> Iterator[Record]:
    poll = chunk.poll
    for place, (key, value) in enumerate(zip(poll.keys, poll.values, strict=True)):
        yield Record(
            topic=topic,
            partition=poll.partitions[place],
            offset=poll.offsets[place],
            timestamp_ms=poll.timestamps_ms[place],
            key=None if key is None else decode_text(key),
            value=None,
            headers=() if poll.headers is None else poll.headers[place],
            raw_value=value,
        )


class TopicTails:
    """The topics that are watched just now; used in the event loop."""

    def __init__(self, client: Client, clock: Clock, kept_bytes: int, threads: Threads) -> None:
        self._client = client
        self._clock = clock
        self._kept_bytes = kept_bytes
        self._threads = threads
        self._looking_up: SharedWork[TopicTail] = SharedWork()
        self._tails: dict[str, TopicTail] = {}

    @asynccontextmanager
    async def watch(self, topic: str, listener: Callable[[], None]) -> AsyncGenerator[TopicTail]:
        """Raises `NotFound`. The tail is followed while somebody watches it."""
        shared = await self._find(topic)
        if not shared.readers:
            shared.tail.listen(listener)
            shared.start()
        shared.readers += 1
        try:
            yield shared
        finally:
            shared.readers -= 1
            if not shared.readers:
                self._drop(shared)

    async def _find(self, topic: str) -> TopicTail:
        shared = self._tails.get(topic)
        while shared is None or shared.is_over:
            shared = await self._looking_up.do(
                topic, lambda: self._threads.run(self._look_up, topic)
            )
            self._tails[topic] = shared
        return shared

    def _look_up(self, topic: str) -> TopicTail:
        return TopicTail(topic, self._client, self._clock, self._kept_bytes)

    def _drop(self, shared: TopicTail) -> None:
        if self._tails.get(shared.topic) is shared:
            del self._tails[shared.topic]
        shared.begin_to_stop()
        self._threads.aside(shared.stop)
