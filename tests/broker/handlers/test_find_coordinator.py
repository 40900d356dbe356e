import asyncio

import pytest

from broker.groups.fake_broker import FakeBroker
from headwater.broker.handlers.find_coordinator import find_coordinator
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.find_coordinator import FindCoordinatorRequest

NODE = (7, "broker.example", 9092)


@pytest.mark.parametrize("version", range(4))
def test_one_key_in_old_versions(version: int):
    request = FindCoordinatorRequest(key="g", key_type=0)

    response = asyncio.run(FakeBroker().call(find_coordinator, request, version))

    assert response.error_code == ErrorCode.NONE
    assert (response.node_id, response.host, response.port) == NODE


@pytest.mark.parametrize("key_type", [0, 1])
@pytest.mark.parametrize("version", [4, 5, 6])
def test_many_keys_in_new_versions(version: int, key_type: int):
    request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["g", "h"])

    response = asyncio.run(FakeBroker().call(find_coordinator, request, version))

    assert [each.key for each in response.coordinators] == ["g", "h"]
    for each in response.coordinators:
        assert (each.node_id, each.host, each.port) == NODE
        assert (each.error_code, each.error_message) == (ErrorCode.NONE, "")


@pytest.mark.parametrize("version", [1, 3, 4, 6])
def test_other_types_of_key_are_refused(version: int):
    request = FindCoordinatorRequest(key="g", key_type=7, coordinator_keys=["g"])

    response = asyncio.run(FakeBroker().call(find_coordinator, request, version))

    found = response if version < 4 else response.coordinators[0]
    assert found.error_code == ErrorCode.INVALID_REQUEST
    assert (found.node_id, found.host, found.port) == (-1, "", -1)
    assert "7" in found.error_message
