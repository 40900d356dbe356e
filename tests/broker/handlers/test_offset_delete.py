import asyncio

from broker.groups.fake_broker import FakeBroker
from broker.groups.test_subscription import subscription
from headwater.broker.groups.committing import Committer
from headwater.broker.groups.records import CommittedOffset, TopicPartition
from headwater.broker.handlers.offset_delete import offset_delete
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)


async def delete(broker: FakeBroker, group_id: str, *names: str) -> OffsetDeleteResponse:
    topics = [
        OffsetDeleteRequestTopic(
            name=name, partitions=[OffsetDeleteRequestPartition(partition_index=0)]
        )
        for name in names
    ]
    request = OffsetDeleteRequest(group_id=group_id, topics=topics)
    return await broker.call(offset_delete, request, 0)


def test_offsets_are_deleted_topic_by_topic():
    async def scenario() -> None:
        broker = FakeBroker()
        offsets = {TopicPartition(name, 0): CommittedOffset(1) for name in ("t", "u")}
        await broker.groups.offsets.commit(Committer("g"), offsets)
        await broker.stable_member(protocols={"range": subscription("t")})
        response = await delete(broker, "g", "t", "u", "nowhere")
        assert response.error_code == ErrorCode.NONE
        assert {topic.name: topic.partitions[0].error_code for topic in response.topics} == {
            "t": ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
            "u": ErrorCode.NONE,
            "nowhere": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        }
        assert broker.groups.offsets.of("g").keys() == {TopicPartition("t", 0)}

    asyncio.run(scenario())


def test_group_must_be_named_and_known():
    async def scenario() -> None:
        broker = FakeBroker()
        assert (await delete(broker, "", "t")).error_code == ErrorCode.INVALID_GROUP_ID
        unknown = await delete(broker, "g", "t")
        assert (unknown.error_code, unknown.topics) == (ErrorCode.GROUP_ID_NOT_FOUND, [])

    asyncio.run(scenario())
