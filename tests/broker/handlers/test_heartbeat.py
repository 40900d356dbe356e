import asyncio

import pytest

from broker.groups.fake_broker import FakeBroker
from headwater.broker.handlers.heartbeat import heartbeat
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.heartbeat import HeartbeatRequest


@pytest.mark.parametrize("version", range(5))
def test_heartbeat_in_every_version(version: int):
    async def scenario() -> None:
        broker = FakeBroker()
        member = await broker.stable_member()
        for generation, error in ((1, ErrorCode.NONE), (2, ErrorCode.ILLEGAL_GENERATION)):
            request = HeartbeatRequest(group_id="g", member_id=member, generation_id=generation)
            assert (await broker.call(heartbeat, request, version)).error_code == error

    asyncio.run(scenario())
