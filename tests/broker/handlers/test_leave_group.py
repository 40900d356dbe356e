import asyncio

import pytest

from broker.groups.fake_broker import FakeBroker
from headwater.broker.handlers.leave_group import leave_group
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity


@pytest.mark.parametrize("version", range(3))
def test_one_member_leaves_in_old_versions(version: int):
    async def scenario() -> None:
        broker = FakeBroker()
        member = await broker.stable_member()
        for member_id, error in (
            ("nobody", ErrorCode.UNKNOWN_MEMBER_ID),
            (member, ErrorCode.NONE),
            (member, ErrorCode.UNKNOWN_MEMBER_ID),
        ):
            request = LeaveGroupRequest(group_id="g", member_id=member_id)
            assert (await broker.call(leave_group, request, version)).error_code == error

    asyncio.run(scenario())


@pytest.mark.parametrize("version", [3, 4, 5])
def test_several_members_leave_together(version: int):
    async def scenario() -> None:
        broker = FakeBroker()
        member = await broker.stable_member()
        request = LeaveGroupRequest(
            group_id="g",
            members=[
                MemberIdentity(member_id=member),
                MemberIdentity(member_id="", group_instance_id="one"),
            ],
        )
        response = await broker.call(leave_group, request, version)
        assert response.error_code == ErrorCode.NONE
        assert [(each.member_id, each.error_code) for each in response.members] == [
            (member, ErrorCode.NONE),
            ("", ErrorCode.UNKNOWN_MEMBER_ID),
        ]

    asyncio.run(scenario())


@pytest.mark.parametrize("version", [2, 5])
def test_group_without_a_name_cannot_be_left(version: int):
    async def scenario() -> None:
        response = await FakeBroker().call(leave_group, LeaveGroupRequest(group_id=""), version)
        assert response.error_code == ErrorCode.INVALID_GROUP_ID

    asyncio.run(scenario())
