"""One subscriber does not hold up the event loop: there are others, and requests."""

import asyncio
from collections.abc import Mapping
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

from followers.polls import poll, put
from headwater.followers.tail import CHUNK_RECORDS, Chunk, Source, Tail
from headwater.serve.event_ids import EventId
from headwater.serve.subscription import Subscription
from rigs.changelog import make_view, revenue

VIEW = make_view("shop.revenue")
CHUNKS = 20


class NothingPasses:
    """A feed whose filter picks none of the changes."""

    topic = VIEW.topic
    with_headers = has_snapshot = is_over = needs_before = False
    fresh_ms = 1

    def __init__(self, tail: Tail) -> None:
        self.tail = tail
        self.looked_at = 0

    def encode(self, chunk: Chunk, since: Mapping[int, int], *, is_sure: bool) -> list[bytes]:
        del since, is_sure
        self.looked_at += len(chunk.poll)
        return []

    async def snapshot(self) -> None:
        return None

    def reason_to_resync(self, last: EventId, now_ms: int) -> str:
        del last, now_ms
        return ""


def test_changes_that_a_filter_does_not_let_through_are_looked_at_a_few_at_a_time() -> None:
    tail = Tail()
    tail.reset({0: 0}, Source("tag", VIEW))
    changes = [put(VIEW, revenue(number)) for number in range(CHUNKS * CHUNK_RECORDS)]
    tail.publish(poll(changes), fresh_ms=1)
    feed = NothingPasses(tail)

    async def look_at_all() -> list[int]:
        clock = SimpleNamespace(now_ms=lambda: 1)
        bell = SimpleNamespace(wait=lambda _: asyncio.sleep(60))
        serving: Any = SimpleNamespace(clock=clock, bell=bell, is_stopping=False)
        stream = Subscription(feed, serving, EventId({0: 0})).stream()
        reading = asyncio.create_task(anext(stream))
        seen = [0]
        while seen[-1] < len(changes):
            await asyncio.sleep(0)
            seen.append(feed.looked_at)
        reading.cancel()
        return seen

    seen = asyncio.run(look_at_all())
    assert max(after - before for before, after in pairwise(seen)) <= CHUNK_RECORDS
