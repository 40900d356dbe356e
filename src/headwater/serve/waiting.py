"""`wait_for`: read your own writes. A receipt of a producer, and the moment a view has it.

A receipt of the view's own changelog is there once the follower has passed it. One of a topic that the
view's pipeline reads is there once the pipeline's group has committed past it, and then the follower has
passed the end that the changelog had at that moment.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final

from headwater.client.client import Client
from headwater.errors import InvalidRequest, TimedOut
from headwater.followers.changes import Positions
from headwater.followers.follower import Follower
from headwater.serve.bell import Bell

ASK_GROUP_S: Final = 0.05
_HINT: Final = 'give a receipt: orders/0/41, or {"topic":"orders","partition":0,"offset":41}'


@dataclass(frozen=True, slots=True)
class Receipt:
    topic: str
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}/{self.offset}"


def parse_receipt(text: str) -> Receipt:
    """A receipt as a producer returns it, in JSON, or `topic/partition/offset`."""
    try:
        if text.lstrip().startswith("{"):
            content = json.loads(text)
            found = Receipt(content["topic"], content["partition"], content["offset"])
        else:
            topic, partition, offset = text.strip().rsplit("/", 2)
            found = Receipt(topic, int(partition), int(offset))
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise InvalidRequest(f"{text[:100]!r} is not a receipt", hint=_HINT) from error
    numbers = (found.partition, found.offset)
    if not all(type(each) is int and 0 <= each < 1 << 63 for each in numbers):
        raise InvalidRequest(f"{text[:100]!r} is not a receipt", hint=_HINT)
    if not isinstance(found.topic, str) or not found.topic:
        raise InvalidRequest(f"{text[:100]!r} is not a receipt", hint=_HINT)
    return found


class Waiting:
    """Waits in the event loop, woken by every commit of a follower."""

    def __init__(self, client: Client, in_thread: Callable[..., Awaitable[Any]]) -> None:
        self._client = client
        self._in_thread = in_thread

    async def wait(
        self, follower: Follower, bell: Bell, receipt: Receipt, timeout_s: float
    ) -> None:
        """Return once the view has it; raises `TimedOut`, or `InvalidRequest` if it never will."""
        deadline = asyncio.get_running_loop().time() + timeout_s
        if receipt.topic == follower.view.topic:
            wanted: Positions = {receipt.partition: receipt.offset + 1}
        else:
            wanted = await self._end_behind(follower, receipt, deadline)
        while not _has(follower.tail.now.positions, wanted):
            left_s = deadline - asyncio.get_running_loop().time()
            if left_s <= 0:
                raise _too_late(follower, receipt, timeout_s)
            await bell.wait(left_s)

    async def _end_behind(self, follower: Follower, receipt: Receipt, deadline: float) -> Positions:
        """Where the changelog ends once the pipeline has worked through the record."""
        group = follower.view.group
        if not group:
            raise InvalidRequest(
                f"view {follower.view.name!r} does not say how far its pipeline has read "
                f"{receipt.topic!r}",
                hint=f"wait for a record of its own topic {follower.view.topic!r}",
            )
        loop = asyncio.get_running_loop()
        began = loop.time()
        while not await self._in_thread(self._has_committed, group, receipt):
            if loop.time() >= deadline:
                raise _too_late(follower, receipt, deadline - began)
            await asyncio.sleep(min(ASK_GROUP_S, max(0.0, deadline - loop.time())))
        return await self._in_thread(self._ends_of, follower.view.topic)  # type: ignore[no-any-return]

    def _has_committed(self, group: str, receipt: Receipt) -> bool:
        committed = self._client.admin.groups.committed(group)
        return committed.get((receipt.topic, receipt.partition), 0) > receipt.offset

    def _ends_of(self, topic: str) -> Positions:
        partitions = self._client.admin.topics.describe(topic).partitions
        return {each.partition: each.end_offset for each in partitions}


def _has(positions: Positions, wanted: Positions) -> bool:
    return all(positions.get(partition, 0) >= offset for partition, offset in wanted.items())


def _too_late(follower: Follower, receipt: Receipt, timeout_s: float) -> TimedOut:
    status = follower.status()
    detail = f", because {status.reason}" if status.reason else ""
    return TimedOut(
        f"view {follower.view.name!r} has not reached {receipt} within {timeout_s:g} s: it is "
        f"{status.state}{detail}",
        hint="ask again with a longer timeout_s, or without wait_for",
    )
