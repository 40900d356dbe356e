"""`wait_for`: read your own writes. A receipt of a producer, and the moment a view has it.

A receipt of the view's own changelog is there once the follower has passed it. One of a topic that the
view's pipeline reads goes the way of the pipeline, query by query: once the group of one has committed past
it, the results lie before the end that the topic of the results has then; so that is waited for next.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from headwater.client.client import Client
from headwater.errors import InvalidRequest, TimedOut
from headwater.followers.changes import Positions
from headwater.followers.follower import Follower, tag_of
from headwater.followers.origin import is_same_content
from headwater.followers.tail import Mark
from headwater.serve.bell import Bell
from headwater.serve.log_ends import LogEnds
from headwater.views import Step, View

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


@dataclass(frozen=True, slots=True)
class Wanted:
    """Where the changelog of a view must have been read to."""

    view: View
    positions: Positions
    topic_id: str | None = None
    """If it is known: positions of another topic of the same name mean nothing."""

    def is_in(self, now: Mark) -> bool:
        served = now.source.view
        return (
            served is not None
            and is_same_content(served, self.view)
            and (self.topic_id is None or now.source.tag == tag_of(self.topic_id, self.view))
            and all(now.positions.get(each, 0) >= at for each, at in self.positions.items())
        )


class Waiting:
    """Waits in the event loop, woken by every commit of a follower."""

    def __init__(self, client: Client, in_thread: Callable[..., Awaitable[Any]]) -> None:
        self._client = client
        self._ends = LogEnds(client)
        self._in_thread = in_thread

    async def wait(
        self, follower: Follower, bell: Bell, receipt: Receipt, timeout_s: float
    ) -> None:
        """Return once the view has it; raises `TimedOut`, or `InvalidRequest` if it never will."""
        view = follower.view
        if not view.tells_of(receipt.topic):
            raise InvalidRequest(
                f"view {view.name!r} cannot tell when it has a record of {receipt.topic!r}",
                hint=_which_do(view),
            )
        try:
            async with asyncio.timeout(timeout_s):
                if receipt.topic == view.topic:
                    wanted = Wanted(view, {receipt.partition: receipt.offset + 1})
                else:
                    wanted = await self._through_the_pipeline(view, receipt)
                while not wanted.is_in(follower.tail.now):
                    await bell.wait(timeout_s)
        except TimeoutError as error:
            raise _too_late(follower, receipt, timeout_s) from error

    async def _through_the_pipeline(self, view: View, receipt: Receipt) -> Wanted:
        """Where the changelog ends once the pipeline has worked through the record."""
        wanted: dict[str, Positions] = {receipt.topic: {receipt.partition: receipt.offset + 1}}
        for step in view.steps or (Step((receipt.topic,), view.group, view.topic),):
            due = {topic: wanted[topic] for topic in step.reads if topic in wanted}
            if due:
                while not await self._in_thread(self._has_read, step.group, due):  # noqa: ASYNC110  nobody tells us
                    await asyncio.sleep(ASK_GROUP_S)
                wanted[step.writes] = await self._in_thread(self._ends.of, step.writes)
        # Last: should the topic be made anew meanwhile, the end of the old one is not taken for its own.
        topic_id = await self._in_thread(self._client.admin.topics.id, view.topic)
        return Wanted(view, wanted[view.topic], topic_id)

    def _has_read(self, group: str, due: Mapping[str, Positions]) -> bool:
        committed = self._client.admin.groups.committed(group)
        return all(
            committed.get((topic, partition), 0) >= at
            for topic, positions in due.items()
            for partition, at in positions.items()
        )


def _which_do(view: View) -> str:
    topics = sorted({view.topic, *(topic for each in view.steps for topic in each.reads)})
    return f"wait for a record of {' or '.join(map(repr, topics))}"


def _too_late(follower: Follower, receipt: Receipt, timeout_s: float) -> TimedOut:
    status = follower.status()
    detail = f", because {status.reason}" if status.reason else ""
    return TimedOut(
        f"view {follower.view.name!r} has not reached {receipt} within {timeout_s:g} s: it is "
        f"{status.state}{detail}",
        hint="ask again with a longer timeout_s, or without wait_for",
    )
