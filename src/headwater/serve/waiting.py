"""`wait_for`: read your own writes. A receipt of a producer, and the moment a view has it.

A receipt of the view's own changelog is there once the follower has passed it. One of a topic that the
view's pipeline reads goes the way of the pipeline, query by query: once the group of one has committed past
it, the results lie before the end that the topic of the results has then; so that is waited for next.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headwater.errors import InvalidRequest, NotFound, TimedOut
from headwater.followers.changes import Positions
from headwater.followers.follower import Follower, tag_of
from headwater.followers.origin import is_same_content
from headwater.followers.tail import Mark
from headwater.serve.bell import Bell
from headwater.serve.broker_answers import BrokerAnswers
from headwater.serve.receipts import Receipt
from headwater.views import Step, View


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


Wish = tuple[Follower, Receipt]


class Waiting:
    """Waits in the event loop, woken by every commit of a follower."""

    def __init__(self, broker: BrokerAnswers) -> None:
        self._broker = broker

    async def wait(self, wishes: Sequence[Wish], bell: Bell, timeout_s: float) -> None:
        """Return once the views have it all; raises `TimedOut`, or `InvalidRequest` if one never will."""
        for follower, receipt in wishes:
            _refuse_what_it_cannot_tell(follower.view, receipt)
        try:
            async with asyncio.timeout(timeout_s):
                for follower, receipt in wishes:
                    wanted = await self._wanted(follower, receipt)
                    while not wanted.is_in(follower.tail.now):
                        await bell.wait(timeout_s)
        except TimeoutError as error:
            raise _too_late(follower, receipt, timeout_s) from error

    async def _wanted(self, follower: Follower, receipt: Receipt) -> Wanted:
        view = follower.view
        if receipt.topic != view.topic:
            await self._refuse_if_there_is_no_such_partition(receipt)
            return await self._through_the_pipeline(view, receipt)
        if receipt.partition not in follower.tail.now.positions:
            await self._refuse_if_there_is_no_such_partition(receipt)
        return Wanted(view, {receipt.partition: receipt.offset + 1})

    async def _through_the_pipeline(self, view: View, receipt: Receipt) -> Wanted:
        """Where the changelog ends once the pipeline has worked through the record."""
        wanted: dict[str, Positions] = {receipt.topic: {receipt.partition: receipt.offset + 1}}
        for step in view.steps or (Step((receipt.topic,), view.group, view.topic),):
            due = {topic: wanted[topic] for topic in step.reads if topic in wanted}
            if due:
                while not _is_past(await self._broker.committed(step.group), due):
                    pass
                wanted[step.writes] = await self._broker.log_ends(step.writes)
        # Last: should the topic be made anew meanwhile, the end of the old one is not taken for its own.
        topic = await self._broker.identity(view.topic)
        return Wanted(view, wanted[view.topic], topic.id)

    async def _refuse_if_there_is_no_such_partition(self, receipt: Receipt) -> None:
        try:
            topic = await self._broker.identity(receipt.topic)
        except NotFound as error:
            raise InvalidRequest(f"there is no topic {receipt.topic!r}") from error
        if receipt.partition >= topic.partitions:
            raise InvalidRequest(
                f"topic {receipt.topic!r} has no partition {receipt.partition}",
                hint=f"it has {topic.partitions}; give a receipt of a producer as it is",
            )


def _is_past(committed: Mapping[tuple[str, int], int], due: Mapping[str, Positions]) -> bool:
    return all(
        committed.get((topic, partition), 0) >= at
        for topic, positions in due.items()
        for partition, at in positions.items()
    )


def _refuse_what_it_cannot_tell(view: View, receipt: Receipt) -> None:
    if not view.tells_of(receipt.topic):
        topics = sorted({view.topic, *(topic for each in view.steps for topic in each.reads)})
        raise InvalidRequest(
            f"view {view.name!r} cannot tell when it has a record of {receipt.topic!r}",
            hint=f"wait for a record of {' or '.join(map(repr, topics))}",
        )


def _too_late(follower: Follower, receipt: Receipt, timeout_s: float) -> TimedOut:
    status = follower.status()
    detail = f", because {status.reason}" if status.reason else ""
    return TimedOut(
        f"view {follower.view.name!r} has not reached {receipt} within {timeout_s:g} s: it is "
        f"{status.state}{detail}",
        hint="ask again with a longer timeout_s, or without wait_for",
    )
