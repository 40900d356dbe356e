"""`max.message.bytes` of `__consumer_offsets` bounds one request, never what others write beside it."""

import asyncio
from collections.abc import Iterable

from headwater.broker.groups.committing import Committer
from headwater.broker.groups.records import CommittedOffset, TopicPartition
from headwater.testing import Broker
from headwater.wire.error_codes import ErrorCode

TOPIC = "orders"
LONG_NAMES = [f"{number}".rjust(30_000, "g") for number in range(3)]
"""Groups whose names fill a batch: it holds 34 offsets of one."""
MOST_IN_A_BATCH = 30
"""How many of them one commit has here."""
DAY_MS = 86_400_000


async def commit(
    broker: Broker, group: str, partitions: Iterable[int], metadata: str = ""
) -> set[ErrorCode]:
    new = CommittedOffset(7, metadata=metadata, committed_at_ms=broker.embedded.clock.now_ms())
    offsets = {TopicPartition(TOPIC, each): new for each in partitions}
    return set((await broker.embedded.groups.offsets.commit(Committer(group), offsets)).values())


async def fill(broker: Broker, group: str) -> None:
    """Commit more offsets than can be deleted in one batch."""
    for first in (0, MOST_IN_A_BATCH):
        codes = await commit(broker, group, range(first, first + MOST_IN_A_BATCH))
        assert codes == {ErrorCode.NONE}


def offsets_left(broker: Broker) -> int:
    return sum(len(broker.embedded.groups.offsets.of(each)) for each in LONG_NAMES)


def test_commits_that_fit_alone_are_not_refused_because_they_come_together(broker: Broker) -> None:
    async def scenario() -> None:
        together = (
            commit(broker, f"g{each}", range(200), metadata="x" * 4000) for each in range(4)
        )
        assert await asyncio.gather(*together) == [{ErrorCode.NONE}] * 4

    broker.call(scenario)
    broker.restart()
    assert [len(broker.embedded.groups.offsets.of(f"g{each}")) for each in range(4)] == [200] * 4


def test_commit_that_is_too_large_costs_only_itself(broker: Broker) -> None:
    async def scenario() -> None:
        small, large, other = await asyncio.gather(
            commit(broker, "small", [0]),
            commit(broker, "large", range(300), metadata="x" * 4000),
            commit(broker, "other", [0]),
        )
        assert small == other == {ErrorCode.NONE}
        assert large == {ErrorCode.UNKNOWN_SERVER_ERROR}
        assert not broker.embedded.groups.offsets.of("large")

    broker.call(scenario)


def test_topic_made_anew_has_no_old_offsets_however_many_there_were(broker: Broker) -> None:
    broker.create_topic(TOPIC, partitions=2)

    async def scenario() -> None:
        for each in LONG_NAMES:
            await fill(broker, each)
        topic = broker.embedded.topics.get(TOPIC)
        assert topic is not None
        await broker.embedded.delete_topic(topic)

    broker.call(scenario)
    broker.create_topic(TOPIC, partitions=2)
    assert offsets_left(broker) == 0
    broker.restart()
    assert offsets_left(broker) == 0


def test_offsets_expire_however_many_there_are(broker: Broker) -> None:
    async def scenario() -> int:
        for each in LONG_NAMES:
            await fill(broker, each)
        groups = broker.embedded.groups
        return await groups.expire_offsets(broker.embedded.clock.now_ms() + 30 * DAY_MS)

    assert broker.call(scenario) == len(LONG_NAMES) * 2 * MOST_IN_A_BATCH
    broker.restart()
    assert (offsets_left(broker), list(broker.embedded.groups)) == (0, [])


def test_group_is_deleted_however_many_offsets_it_has(broker: Broker) -> None:
    async def scenario() -> ErrorCode:
        await fill(broker, LONG_NAMES[0])
        return await broker.embedded.groups.offsets.delete_group(LONG_NAMES[0])

    assert broker.call(scenario) is ErrorCode.NONE
    broker.restart()
    assert (offsets_left(broker), list(broker.embedded.groups)) == (0, [])
