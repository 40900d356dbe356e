import asyncio

import pytest

from broker.groups.fake_broker import FakeBroker
from headwater.broker.groups.committing import Committer
from headwater.broker.groups.records import CommittedOffset, TopicPartition
from headwater.broker.handlers.delete_groups import delete_groups
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.delete_groups import DeleteGroupsRequest


@pytest.mark.parametrize("version", [0, 1, 2])
def test_groups_are_deleted_independently(version: int):
    async def scenario() -> None:
        broker = FakeBroker()
        await broker.stable_member("living")
        await broker.groups.offsets.commit(
            Committer("empty"), {TopicPartition("t", 0): CommittedOffset(1)}
        )
        request = DeleteGroupsRequest(groups_names=["living", "empty", "unknown"])
        response = await broker.call(delete_groups, request, version)
        assert {each.group_id: each.error_code for each in response.results} == {
            "living": ErrorCode.NON_EMPTY_GROUP,
            "empty": ErrorCode.NONE,
            "unknown": ErrorCode.GROUP_ID_NOT_FOUND,
        }
        assert [group.id for group in broker.groups] == ["living"]

    asyncio.run(scenario())
