import asyncio

import pytest

from broker.groups.fake_broker import FakeBroker
from broker.groups.fakes import join_request
from headwater.broker.handlers.join_group import join_group
from headwater.wire.error_codes import ErrorCode


@pytest.mark.parametrize("version", range(10))
def test_member_joins_in_every_version(version: int):
    async def scenario() -> None:
        broker = FakeBroker()
        response = await broker.call(join_group, join_request(), version)
        if version >= 4:
            assert response.error_code == ErrorCode.MEMBER_ID_REQUIRED
            request = join_request(member_id=response.member_id)
            response = await broker.call(join_group, request, version)
        assert (response.error_code, response.generation_id) == (ErrorCode.NONE, 1)
        assert response.leader == response.member_id
        assert (response.protocol_name, len(response.members)) == ("range", 1)
        assert response.protocol_type == ("consumer" if version >= 7 else None)

    asyncio.run(scenario())


def test_version_0_has_its_session_timeout_as_rebalance_timeout():
    async def scenario() -> None:
        broker = FakeBroker()
        response = await broker.call(join_group, join_request(session_s=12), 0)
        group = broker.groups.find("g")
        assert group is not None
        assert group.roster[response.member_id].rebalance_timeout_ms == 12_000

    asyncio.run(scenario())


def test_client_is_shown_as_kafka_shows_it():
    async def scenario() -> None:
        broker = FakeBroker()
        response = await broker.call(join_group, join_request(), 3)
        group = broker.groups.find("g")
        assert group is not None
        member = group.roster[response.member_id]
        assert (member.client_id, member.client_host) == ("app", "/127.0.0.1")

    asyncio.run(scenario())


@pytest.mark.parametrize("version", [5, 6, 9])
def test_fenced_twin_is_answered_in_every_version(version: int):
    async def scenario() -> None:
        broker = FakeBroker()
        leader = await broker.stable_member()
        request = join_request(instance_id="one")
        waiting = asyncio.create_task(broker.call(join_group, request, version))
        await asyncio.sleep(0)
        twin = asyncio.create_task(broker.call(join_group, request, version))
        assert (await waiting).error_code == ErrorCode.FENCED_INSTANCE_ID
        await broker.call(join_group, join_request(member_id=leader), version)
        assert (await twin).error_code == ErrorCode.NONE

    asyncio.run(scenario())
