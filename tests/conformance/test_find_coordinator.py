"""FindCoordinator: one broker coordinates every group."""

import pytest

from conformance.calls import eventually
from conformance.raw import Connection, ErrorCode

GROUP, TRANSACTION, SHARE = 0, 1, 2


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_one_key(connection: Connection, bootstrap: str, group: str, version: int):
    key_type = {"key_type": GROUP} if version >= 1 else {}

    response = connection.request("find_coordinator", version, key=group, **key_type)

    assert response.error_code == ErrorCode.none
    assert f"{response.host}:{response.port}" == bootstrap
    node = connection.request("metadata", 12, topics=[]).brokers[0].node_id
    assert response.node_id == node


@pytest.mark.parametrize("version", [4, 5, 6])
def test_several_keys(connection: Connection, bootstrap: str, group: str, version: int):
    keys = [group, f"{group}-2", f"{group}-3"]

    response = connection.request(
        "find_coordinator", version, key_type=GROUP, coordinator_keys=keys
    )

    assert [found.key for found in response.coordinators] == keys
    for found in response.coordinators:
        assert found.error_code == ErrorCode.none
        assert f"{found.host}:{found.port}" == bootstrap


def test_no_keys(connection: Connection):
    response = connection.request("find_coordinator", 4, key_type=GROUP, coordinator_keys=[])

    assert response.coordinators == []


@pytest.mark.parametrize("version", [1, 3])
def test_unknown_type_of_key(connection: Connection, version: int):
    response = connection.request("find_coordinator", version, key="x", key_type=7)

    assert response.error_code == ErrorCode.invalid_request


def test_unknown_type_of_several_keys(connection: Connection):
    response = connection.request("find_coordinator", 4, key_type=7, coordinator_keys=["x", "y"])

    codes = {found.key: found.error_code for found in response.coordinators}
    assert codes == {"x": ErrorCode.invalid_request, "y": ErrorCode.invalid_request}


def test_coordinator_of_a_transactional_id(connection: Connection, bootstrap: str, name: str):
    def find() -> object:
        response = connection.request(
            "find_coordinator", 4, key_type=TRANSACTION, coordinator_keys=[name]
        )
        (found,) = response.coordinators
        return found if found.error_code == ErrorCode.none else None

    found = eventually(find)
    assert f"{found.host}:{found.port}" == bootstrap
