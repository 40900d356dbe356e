import asyncio

import pytest

from broker.groups.fake_broker import FakeBroker
from broker.groups.fakes import join_request
from headwater.broker.groups.member import Client
from headwater.broker.handlers.describe_groups import describe_groups
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.describe_groups import DescribedGroup, DescribeGroupsRequest


async def describe(broker: FakeBroker, version: int, **fields: object) -> DescribedGroup:
    request = DescribeGroupsRequest(groups=["g"], **fields)
    (group,) = (await broker.call(describe_groups, request, version)).groups
    assert group.group_id == "g"
    return group


@pytest.mark.parametrize("version", range(7))
def test_stable_group_is_described_in_every_version(version: int):
    async def scenario() -> None:
        broker = FakeBroker()
        member_id = await broker.stable_member()
        group = await describe(broker, version)
        assert (group.error_code, group.group_state) == (ErrorCode.NONE, "Stable")
        assert (group.protocol_type, group.protocol_data) == ("consumer", "range")
        (member,) = group.members
        assert (member.member_id, member.group_instance_id) == (member_id, None)
        assert (member.client_id, member.client_host) == ("app", "/127.0.0.1")
        assert member.member_metadata == b"subscription"
        assert member.member_assignment == b"assignment"
        assert group.authorized_operations == -(2**31)

    asyncio.run(scenario())


def test_group_that_rebalances_shows_no_protocol():
    async def scenario() -> None:
        broker = FakeBroker()
        await broker.groups.join(join_request(), Client("app", "/127.0.0.1", 3))
        group = await describe(broker, 5)
        assert (group.group_state, group.protocol_data) == ("CompletingRebalance", "")
        assert group.members[0].member_metadata == b""

    asyncio.run(scenario())


@pytest.mark.parametrize("version", [0, 5])
def test_unknown_group_is_dead_in_old_versions(version: int):
    group = asyncio.run(describe(FakeBroker(), version))

    assert (group.error_code, group.group_state) == (ErrorCode.NONE, "Dead")


def test_unknown_group_is_not_found_in_version_6():
    group = asyncio.run(describe(FakeBroker(), 6))

    assert (group.error_code, group.group_state) == (ErrorCode.GROUP_ID_NOT_FOUND, "Dead")
    assert group.error_message == "Group g not found."


def test_operations_are_shown_when_asked_for():
    async def scenario() -> None:
        broker = FakeBroker()
        await broker.stable_member()
        group = await describe(broker, 5, include_authorized_operations=True)
        assert group.authorized_operations == 3400

    asyncio.run(scenario())
