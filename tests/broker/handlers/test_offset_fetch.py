import asyncio

import pytest

from broker.groups.fake_broker import TOPIC_IDS, UNKNOWN_ID, FakeBroker
from headwater.broker.groups.committing import Committer
from headwater.broker.groups.records import CommittedOffset, TopicPartition
from headwater.broker.handlers.offset_fetch import MOST_IN_A_TURN, offset_fetch
from headwater.errors import InvalidRequest
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)

COMMITTED = {
    TopicPartition("t", 0): CommittedOffset(5, leader_epoch=2, metadata="ünïcödé"),
    TopicPartition("t", 2): CommittedOffset(7),
    TopicPartition("u", 0): CommittedOffset(9),
}
Found = dict[tuple[str | bytes, int], tuple[int, str]]


async def broker_with_offsets() -> FakeBroker:
    broker = FakeBroker()
    await broker.groups.offsets.commit(Committer("g"), COMMITTED)
    return broker


@pytest.mark.parametrize("version", range(1, 8))
def test_one_group_in_old_versions(version: int):
    async def scenario() -> None:
        broker = await broker_with_offsets()
        request = OffsetFetchRequest(
            group_id="g",
            topics=[OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1])],
            require_stable=True,
        )
        response = await broker.call(offset_fetch, request, version)
        (topic,) = response.topics
        first, second = topic.partitions
        assert (first.committed_offset, first.metadata, first.error_code) == (5, "ünïcödé", 0)
        assert first.committed_leader_epoch == (2 if version >= 5 else -1)
        assert (second.committed_offset, second.metadata, second.error_code) == (-1, "", 0)

    asyncio.run(scenario())


@pytest.mark.parametrize("version", [2, 7])
def test_null_asks_for_everything_in_old_versions(version: int):
    async def scenario() -> None:
        broker = await broker_with_offsets()
        request = OffsetFetchRequest(group_id="g", topics=None)
        response = await broker.call(offset_fetch, request, version)
        assert {
            (topic.name, each.partition_index): each.committed_offset
            for topic in response.topics
            for each in topic.partitions
        } == {("t", 0): 5, ("t", 2): 7, ("u", 0): 9}

    asyncio.run(scenario())


@pytest.mark.parametrize("version", [8, 9, 10])
def test_many_groups_in_new_versions(version: int):
    async def scenario() -> None:
        broker = await broker_with_offsets()
        asked = OffsetFetchRequestTopics(
            name="t", topic_id=TOPIC_IDS["t"], partition_indexes=[0, 1]
        )
        request = OffsetFetchRequest(
            groups=[
                OffsetFetchRequestGroup(group_id="unknown", topics=[asked]),
                OffsetFetchRequestGroup(group_id="g", topics=[asked]),
                OffsetFetchRequestGroup(group_id="g", topics=None),
                OffsetFetchRequestGroup(group_id="unknown", topics=None),
            ]
        )
        response = await broker.call(offset_fetch, request, version)
        offsets = [
            [each.committed_offset for topic in group.topics for each in topic.partitions]
            for group in response.groups
        ]
        assert offsets == [[-1, -1], [5, -1], [5, 7, 9], []]
        assert {group.error_code for group in response.groups} == {ErrorCode.NONE}
        topic = response.groups[2].topics[0]
        if version >= 10:
            assert topic.topic_id == TOPIC_IDS["t"]
        else:
            assert topic.name == "t"

    asyncio.run(scenario())


def test_unknown_topic_id():
    async def scenario() -> None:
        broker = await broker_with_offsets()
        asked = OffsetFetchRequestTopics(topic_id=UNKNOWN_ID, partition_indexes=[0])
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=[asked])])
        (topic,) = (await broker.call(offset_fetch, request, 10)).groups[0].topics
        assert topic.topic_id == UNKNOWN_ID
        (found,) = topic.partitions
        assert (found.committed_offset, found.error_code) == (-1, ErrorCode.UNKNOWN_TOPIC_ID)

    asyncio.run(scenario())


def test_topic_that_is_gone_cannot_be_named_by_id():
    async def scenario() -> None:
        broker = await broker_with_offsets()
        del broker.topics.ids["t"]
        request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=None)])
        (group,) = (await broker.call(offset_fetch, request, 10)).groups
        assert [topic.topic_id for topic in group.topics] == [TOPIC_IDS["u"]]

    asyncio.run(scenario())


async def turns_of_others(broker: FakeBroker, groups: list[OffsetFetchRequestGroup]) -> int:
    request = OffsetFetchRequest(groups=groups)
    answering = asyncio.create_task(broker.call(offset_fetch, request, 8))
    turns = 0
    while not answering.done():
        await asyncio.sleep(0)
        turns += 1
    return turns


def test_others_are_served_between_the_groups_of_one_request():
    async def scenario() -> None:
        broker = FakeBroker()
        many = {TopicPartition("t", each): CommittedOffset(1) for each in range(MOST_IN_A_TURN)}
        groups = [OffsetFetchRequestGroup(group_id=f"g{each}", topics=None) for each in range(50)]
        for each in groups:
            await broker.groups.offsets.commit(Committer(each.group_id), many)
        assert await turns_of_others(broker, groups) >= len(groups)

    asyncio.run(scenario())


def test_many_groups_that_have_committed_little_do_not_wait_for_others_one_by_one():
    """As a Spark query asks after each batch: for the tasks that may have written some of it."""

    async def scenario() -> None:
        groups = [OffsetFetchRequestGroup(group_id=f"g{each}", topics=None) for each in range(200)]
        assert 2 <= await turns_of_others(FakeBroker(), groups) <= 10

    asyncio.run(scenario())


def test_group_that_is_asked_for_again_is_answered_again():
    async def scenario() -> None:
        broker = await broker_with_offsets()
        groups = [OffsetFetchRequestGroup(group_id="g", topics=None)] * 3
        response = await broker.call(offset_fetch, OffsetFetchRequest(groups=groups), 8)
        assert [len(each.topics) for each in response.groups] == [2, 2, 2]

    asyncio.run(scenario())


def test_small_request_for_the_same_large_group_again_and_again_is_refused():
    async def scenario() -> None:
        broker = FakeBroker()
        many = {TopicPartition("t", each): CommittedOffset(1) for each in range(1000)}
        await broker.groups.offsets.commit(Committer("g"), many)
        groups = [OffsetFetchRequestGroup(group_id="g", topics=None)] * 102
        with pytest.raises(InvalidRequest, match="asked for again and again"):
            await broker.call(offset_fetch, OffsetFetchRequest(groups=groups), 8)
        await broker.call(offset_fetch, OffsetFetchRequest(groups=groups[:50]), 8)

    asyncio.run(scenario())
