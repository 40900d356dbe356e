import asyncio

import pytest

from broker.groups.fake_broker import TOPIC_IDS, UNKNOWN_ID, FakeBroker
from headwater.broker.groups.records import CommittedOffset, TopicPartition
from headwater.broker.handlers.offset_commit import offset_commit
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

NONE = ErrorCode.NONE


def partition(index: int = 0, offset: int = 5, **fields: object) -> OffsetCommitRequestPartition:
    return OffsetCommitRequestPartition(partition_index=index, committed_offset=offset, **fields)


def topic(name: str = "t", *partitions: OffsetCommitRequestPartition) -> OffsetCommitRequestTopic:
    return OffsetCommitRequestTopic(
        name=name,
        topic_id=TOPIC_IDS.get(name, UNKNOWN_ID),
        partitions=partitions or [partition()],
    )


def request_of(*topics: OffsetCommitRequestTopic, **fields: object) -> OffsetCommitRequest:
    return OffsetCommitRequest(group_id="g", topics=topics or [topic()], **fields)


async def commit(broker: FakeBroker, request: OffsetCommitRequest, version: int = 8) -> list[int]:
    response = await broker.call(offset_commit, request, version)
    return [each.error_code for found in response.topics for each in found.partitions]


@pytest.mark.parametrize("version", range(2, 11))
def test_offset_is_committed_in_every_version(version: int):
    async def scenario() -> None:
        broker = FakeBroker()
        offset = partition(2, 42, committed_metadata="note", committed_leader_epoch=3)
        response = await broker.call(offset_commit, request_of(topic("t", offset)), version)
        (found,) = response.topics
        if version >= 10:
            assert found.topic_id == TOPIC_IDS["t"]
        else:
            assert found.name == "t"
        assert [(each.partition_index, each.error_code) for each in found.partitions] == [(2, 0)]
        assert broker.groups.offsets.of("g") == {
            TopicPartition("t", 2): CommittedOffset(
                offset=42,
                leader_epoch=3 if version >= 6 else -1,
                metadata="note",
                committed_at_ms=broker.clock.now_ms(),
            )
        }

    asyncio.run(scenario())


def test_null_metadata_is_kept_as_empty():
    async def scenario() -> None:
        broker = FakeBroker()
        await commit(broker, request_of(topic("t", partition(committed_metadata=None))))
        assert broker.groups.offsets.of("g")[TopicPartition("t", 0)].metadata == ""

    asyncio.run(scenario())


def test_unknown_topics_and_partitions_do_not_spoil_the_others():
    async def scenario() -> None:
        broker = FakeBroker()
        request = request_of(topic("nowhere"), topic("t", partition(0), partition(9)))
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert await commit(broker, request) == [unknown, NONE, unknown]

    asyncio.run(scenario())


def test_unknown_topic_id():
    async def scenario() -> None:
        codes = await commit(FakeBroker(), request_of(topic("nowhere"), topic()), 10)
        assert codes == [ErrorCode.UNKNOWN_TOPIC_ID, NONE]

    asyncio.run(scenario())


def test_nothing_to_commit_makes_no_group():
    async def scenario() -> None:
        broker = FakeBroker()
        await commit(broker, request_of(topic("nowhere")))
        assert list(broker.groups) == []

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("version", "error"), [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)]
)
def test_member_of_a_group_that_does_not_exist(version: int, error: ErrorCode):
    async def scenario() -> None:
        request = request_of(generation_id_or_member_epoch=1, member_id="m")
        assert await commit(FakeBroker(), request, version) == [error]

    asyncio.run(scenario())


def test_member_commits_in_its_generation():
    async def scenario() -> None:
        broker = FakeBroker()
        member = await broker.stable_member()
        mine = request_of(generation_id_or_member_epoch=1, member_id=member)
        assert await commit(broker, mine) == [NONE]
        fenced = request_of(
            generation_id_or_member_epoch=1, member_id=member, group_instance_id="one"
        )
        assert await commit(broker, fenced) == [ErrorCode.UNKNOWN_MEMBER_ID]

    asyncio.run(scenario())


@pytest.mark.parametrize(("version", "is_kept"), [(2, True), (4, True), (5, False)])
def test_old_client_chooses_how_long_its_offset_lives(version: int, is_kept: bool):
    async def scenario() -> None:
        broker = FakeBroker()
        await commit(broker, request_of(retention_time_ms=1000), version)
        expires_at_ms = broker.groups.offsets.of("g")[TopicPartition("t", 0)].expires_at_ms
        assert expires_at_ms == (broker.clock.now_ms() + 1000 if is_kept else None)

    asyncio.run(scenario())


def test_group_without_a_name_can_hold_offsets():
    async def scenario() -> None:
        broker = FakeBroker()
        request = OffsetCommitRequest(group_id="", topics=[topic()])
        assert await commit(broker, request) == [NONE]

    asyncio.run(scenario())
