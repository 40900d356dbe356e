"""ListGroups, DescribeGroups, DeleteGroups, OffsetDelete: groups as tools see them."""

from collections.abc import Callable
from typing import Any

import pytest

from conformance.calls import eventually
from conformance.conftest import NewTopic
from conformance.members import Member, describe, state_of, subscription
from conformance.raw import Connection, ErrorCode

NewMember = Callable[..., Member]


@pytest.fixture
def new_member(connect: Any, group: str) -> NewMember:
    return lambda **fields: Member(connect(), group, **fields)


def commit(connection: Connection, group: str, topic: str, offset: int = 5) -> None:
    response = connection.request(
        "offset_commit",
        8,
        group_id=group,
        generation_id_or_member_epoch=-1,
        topics=[
            {"name": topic, "partitions": [{"partition_index": 0, "committed_offset": offset}]}
        ],
    )
    assert response.topics[0].partitions[0].error_code == ErrorCode.none


def committed(connection: Connection, group: str, topic: str) -> int:
    response = connection.request(
        "offset_fetch", 7, group_id=group, topics=[{"name": topic, "partition_indexes": [0]}]
    )
    return response.topics[0].partitions[0].committed_offset


def listed(connection: Connection, group: str, version: int = 5, **filters: Any) -> Any:
    response = connection.request("list_groups", version, **filters)
    assert response.error_code == ErrorCode.none
    return {found.group_id: found for found in response.groups}.get(group)


@pytest.mark.parametrize("version", range(6))
def test_group_is_listed_in_every_version(
    new_member: NewMember, connection: Connection, version: int
):
    member = new_member()
    member.enter_alone()

    assert listed(connection, member.group, version).protocol_type == "consumer"


def test_list_shows_state_and_type(new_member: NewMember, connection: Connection):
    member = new_member()
    member.enter_alone()

    found = listed(connection, member.group)

    assert (found.group_state, found.group_type) == ("Stable", "classic")


def test_group_with_offsets_only_is_listed_as_empty(connection: Connection, group: str, topic: str):
    commit(connection, group, topic)

    found = listed(connection, group)

    assert (found.group_state, found.protocol_type) == ("Empty", "")


@pytest.mark.parametrize(
    ("states", "is_listed"),
    [
        (["Stable"], True),
        (["stable"], True),
        (["Empty"], False),
        (["Empty", "Stable"], True),
        ([], True),
        (["NoSuchState"], False),
    ],
)
def test_list_by_state(
    new_member: NewMember, connection: Connection, states: list[str], is_listed: bool
):
    member = new_member()
    member.enter_alone()

    found = listed(connection, member.group, states_filter=states)

    assert (found is not None) is is_listed


@pytest.mark.parametrize(
    ("types", "is_listed"), [(["classic"], True), (["Classic"], True), (["consumer"], False)]
)
def test_list_by_type(
    new_member: NewMember, connection: Connection, types: list[str], is_listed: bool
):
    member = new_member()
    member.enter_alone()

    found = listed(connection, member.group, types_filter=types)

    assert (found is not None) is is_listed


@pytest.mark.parametrize("version", range(7))
def test_describes_a_stable_group_in_every_version(
    new_member: NewMember, connection: Connection, version: int
):
    reads = subscription("some-topic")
    member = new_member(protocols={"range": reads})
    member.enter_alone(b"assigned")

    found = describe(connection, member.group, version)

    assert (found.error_code, found.group_id) == (ErrorCode.none, member.group)
    assert (found.group_state, found.protocol_type, found.protocol_data) == (
        "Stable",
        "consumer",
        "range",
    )
    (described,) = found.members
    assert described.member_id == member.member_id
    assert (described.client_id, described.client_host) == ("conformance", "/127.0.0.1")
    assert described.member_metadata == reads
    assert described.member_assignment == b"assigned"


def test_states_of_a_group(new_member: NewMember, connection: Connection):
    first, second = new_member(), new_member()
    group = first.group

    first.join()
    assert state_of(connection, group) == "CompletingRebalance"
    first.sync()
    assert state_of(connection, group) == "Stable"
    second.send_join()
    eventually(lambda: state_of(connection, group) == "PreparingRebalance")
    first.leave()
    second.receive_join()
    second.leave()
    assert state_of(connection, group) == "Empty"


def test_unknown_group_is_dead_in_old_versions(connection: Connection, group: str):
    found = describe(connection, group, 5)

    assert (found.error_code, found.group_state, found.members) == (ErrorCode.none, "Dead", [])


def test_unknown_group_is_not_found_in_version_6(connection: Connection, group: str):
    found = describe(connection, group, 6)

    assert (found.error_code, found.group_state) == (ErrorCode.group_id_not_found, "Dead")
    assert found.error_message


def test_describes_several_groups(new_member: NewMember, connection: Connection):
    member = new_member()
    member.enter_alone()

    response = connection.request("describe_groups", 5, groups=[f"{member.group}-x", member.group])

    assert {found.group_id: found.group_state for found in response.groups} == {
        f"{member.group}-x": "Dead",
        member.group: "Stable",
    }


def test_operations_only_when_asked_for(new_member: NewMember, connection: Connection):
    member = new_member()
    member.enter_alone()

    silent = describe(connection, member.group)
    response = connection.request(
        "describe_groups", 5, groups=[member.group], include_authorized_operations=True
    )

    assert silent.authorized_operations == -(2**31)
    # Read Delete Describe DescribeConfigs AlterConfigs.
    assert response.groups[0].authorized_operations == sum(1 << bit for bit in (3, 6, 8, 10, 11))


def delete(connection: Connection, *groups: str, version: int = 2) -> dict[str, ErrorCode]:
    response = connection.request("delete_groups", version, groups_names=groups)
    return {result.group_id: result.error_code for result in response.results}


@pytest.mark.parametrize("version", [0, 1, 2])
def test_empty_group_can_be_deleted_with_its_offsets(
    connection: Connection, group: str, topic: str, version: int
):
    commit(connection, group, topic)

    assert delete(connection, group, version=version) == {group: ErrorCode.none}
    assert listed(connection, group) is None
    assert committed(connection, group, topic) == -1


def test_group_with_members_cannot_be_deleted(new_member: NewMember, connection: Connection):
    member = new_member()
    member.enter_alone()

    assert delete(connection, member.group) == {member.group: ErrorCode.non_empty_group}
    assert member.heartbeat() == ErrorCode.none


def test_unknown_group_cannot_be_deleted(connection: Connection, group: str):
    assert delete(connection, group) == {group: ErrorCode.group_id_not_found}


def test_several_groups_are_deleted_independently(
    new_member: NewMember, connection: Connection, topic: str
):
    member = new_member()
    member.enter_alone()
    empty, unknown = f"{member.group}-empty", f"{member.group}-unknown"
    commit(connection, empty, topic)

    assert delete(connection, member.group, empty, unknown) == {
        member.group: ErrorCode.non_empty_group,
        empty: ErrorCode.none,
        unknown: ErrorCode.group_id_not_found,
    }


def delete_offsets(connection: Connection, group: str, topic: str, *partitions: int) -> Any:
    return connection.request(
        "offset_delete",
        0,
        group_id=group,
        topics=[
            {
                "name": topic,
                "partitions": [{"partition_index": partition} for partition in partitions],
            }
        ],
    )


def test_offsets_of_an_empty_group_can_be_deleted(
    connection: Connection, group: str, new_topic: NewTopic
):
    kept, removed = new_topic(), new_topic()
    commit(connection, group, kept)
    commit(connection, group, removed)

    response = delete_offsets(connection, group, removed, 0)

    assert response.error_code == ErrorCode.none
    assert response.topics[0].partitions[0].error_code == ErrorCode.none
    assert committed(connection, group, removed) == -1
    assert committed(connection, group, kept) == 5


def test_offset_of_a_subscribed_topic_cannot_be_deleted(
    new_member: NewMember, connection: Connection, new_topic: NewTopic
):
    subscribed, other = new_topic(), new_topic()
    member = new_member(protocols={"range": subscription(subscribed)})
    commit(connection, member.group, subscribed)
    commit(connection, member.group, other)
    member.enter_alone()

    refused = delete_offsets(connection, member.group, subscribed, 0)
    allowed = delete_offsets(connection, member.group, other, 0)

    assert refused.topics[0].partitions[0].error_code == ErrorCode.group_subscribed_to_topic
    assert allowed.topics[0].partitions[0].error_code == ErrorCode.none
    assert committed(connection, member.group, subscribed) == 5
    assert committed(connection, member.group, other) == -1


def test_offsets_of_an_unknown_group(connection: Connection, group: str, topic: str):
    assert delete_offsets(connection, group, topic, 0).error_code == ErrorCode.group_id_not_found


def test_offset_of_an_unknown_topic(connection: Connection, group: str, topic: str, name: str):
    commit(connection, group, topic)

    response = delete_offsets(connection, group, name, 0)

    assert response.topics[0].partitions[0].error_code == ErrorCode.unknown_topic_or_partition


def test_offset_of_an_unknown_partition(connection: Connection, group: str, topic: str):
    commit(connection, group, topic)

    response = delete_offsets(connection, group, topic, 0, 7)

    codes = {one.partition_index: one.error_code for one in response.topics[0].partitions}
    assert codes == {0: ErrorCode.none, 7: ErrorCode.unknown_topic_or_partition}


def test_offsets_of_a_group_with_another_protocol_cannot_be_deleted(
    new_member: NewMember, connection: Connection, topic: str
):
    member = new_member(protocol_type="connect", protocols={"default": b"x"})
    commit(connection, member.group, topic)
    member.enter_alone()

    assert (
        delete_offsets(connection, member.group, topic, 0).error_code == ErrorCode.non_empty_group
    )
