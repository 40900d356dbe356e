import asyncio

import pytest

from broker.groups.fake_broker import FakeBroker
from broker.groups.fakes import join_request, sync_request
from headwater.broker.groups.member import Client
from headwater.broker.handlers.sync_group import sync_group
from headwater.wire.error_codes import ErrorCode


@pytest.mark.parametrize("version", range(6))
def test_member_gets_its_assignment_in_every_version(version: int):
    async def scenario() -> None:
        broker = FakeBroker()
        client = Client("app", "/127.0.0.1", 3)
        member = (await broker.groups.join(join_request(), client)).member_id
        request = sync_request(
            1, member, {member: b"mine"}, protocol_type="consumer", protocol_name="range"
        )
        response = await broker.call(sync_group, request, version)
        assert (response.error_code, response.assignment) == (ErrorCode.NONE, b"mine")
        if version >= 5:
            assert (response.protocol_type, response.protocol_name) == ("consumer", "range")

    asyncio.run(scenario())


@pytest.mark.parametrize("fields", [{}, {"protocol_type": "consumer"}, {"protocol_name": "range"}])
def test_version_5_must_name_type_and_protocol(fields: dict[str, str]):
    async def scenario() -> None:
        broker = FakeBroker()
        member = await broker.stable_member()
        response = await broker.call(sync_group, sync_request(1, member, **fields), 5)
        assert response.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL

    asyncio.run(scenario())
