"""Static members (KIP-345): a restart is no rebalance, and two with one name fence each other."""

from collections.abc import Callable
from typing import Any

import pytest

from conformance.calls import eventually
from conformance.members import Member, describe, subscription
from conformance.raw import ErrorCode

NewMember = Callable[..., Member]


@pytest.fixture
def new_member(connect: Any, group: str) -> NewMember:
    return lambda **fields: Member(connect(), group, **fields)


def stable_pair(new_member: NewMember) -> tuple[Member, Member]:
    """A stable group of two static members: its leader `one`, and `two`."""
    leader, follower = new_member(instance_id="one"), new_member(instance_id="two")
    leader.enter_alone()
    follower.send_join()
    eventually(lambda: leader.heartbeat() == ErrorCode.rebalance_in_progress)
    leader.join()
    follower.receive_join()
    follower.send_sync()
    leader.sync({leader.member_id: b"first", follower.member_id: b"second"})
    follower.connection.receive()
    return leader, follower


def test_static_member_needs_no_second_join(new_member: NewMember):
    response = new_member(instance_id="one").request_join()

    assert response.error_code == ErrorCode.none
    assert response.members[0].group_instance_id == "one"


def test_restarted_member_has_its_place_without_a_rebalance(new_member: NewMember):
    leader, follower = stable_pair(new_member)

    restarted = new_member(instance_id="two")
    response = restarted.join()

    assert (response.error_code, response.generation_id) == (ErrorCode.none, 2)
    assert response.member_id != follower.member_id
    assert restarted.sync().assignment == b"second"
    assert leader.heartbeat() == restarted.heartbeat() == ErrorCode.none


def test_restarted_leader_keeps_the_assignment_without_a_rebalance(new_member: NewMember):
    leader, follower = stable_pair(new_member)

    restarted = new_member(instance_id="one")
    response = restarted.join()

    assert (response.error_code, response.generation_id) == (ErrorCode.none, 2)
    # KIP-814: it leads, sees the members, and is told not to assign again.
    assert response.leader == restarted.member_id
    assert response.skip_assignment
    assert len(response.members) == 2
    assert restarted.sync().assignment == b"first"
    assert follower.heartbeat() == ErrorCode.none
    assert leader.heartbeat() == ErrorCode.fenced_instance_id


def test_restarted_member_with_another_subscription_is_still_no_rebalance(new_member: NewMember):
    leader, _follower = stable_pair(new_member)

    restarted = new_member(instance_id="two", protocols={"range": subscription("other-topic")})
    response = restarted.join()

    assert (response.error_code, response.generation_id) == (ErrorCode.none, 2)
    assert leader.heartbeat() == ErrorCode.none


def test_restarted_member_that_changes_the_protocol_starts_a_rebalance(new_member: NewMember):
    both = {"range": subscription(), "sticky": subscription()}
    member = new_member(instance_id="one", protocols=both)
    member.enter_alone()

    restarted = new_member(instance_id="one", protocols={"sticky": subscription()})
    response = restarted.join()

    assert (response.protocol_name, response.generation_id) == ("sticky", 2)


def test_old_process_is_fenced_by_the_new_one(new_member: NewMember):
    _leader, follower = stable_pair(new_member)
    new_member(instance_id="two").join()

    assert follower.heartbeat() == ErrorCode.fenced_instance_id
    assert follower.sync().error_code == ErrorCode.fenced_instance_id
    assert follower.request_join().error_code == ErrorCode.fenced_instance_id


def test_old_process_cannot_commit(new_member: NewMember, topic: str):
    _leader, follower = stable_pair(new_member)
    new_member(instance_id="two").join()

    response = follower.connection.request(
        "offset_commit",
        8,
        group_id=follower.group,
        generation_id_or_member_epoch=follower.generation,
        member_id=follower.member_id,
        group_instance_id="two",
        topics=[
            {
                "name": topic,
                "partitions": [{"partition_index": 0, "committed_offset": 1}],
            }
        ],
    )

    assert response.topics[0].partitions[0].error_code == ErrorCode.fenced_instance_id


def test_instance_id_of_another_member_is_fenced(new_member: NewMember):
    leader, _follower = stable_pair(new_member)

    assert leader.heartbeat(group_instance_id="two") == ErrorCode.fenced_instance_id


def test_unknown_instance_id(new_member: NewMember):
    leader, _follower = stable_pair(new_member)

    assert leader.heartbeat(group_instance_id="three") == ErrorCode.unknown_member_id


def test_member_can_be_removed_by_its_instance_id(new_member: NewMember):
    leader, _follower = stable_pair(new_member)

    response = leader.connection.request(
        "leave_group",
        5,
        group_id=leader.group,
        members=[
            {"member_id": "", "group_instance_id": "two"},
            {"member_id": "", "group_instance_id": "nobody"},
        ],
    )

    assert [(left.group_instance_id, left.error_code) for left in response.members] == [
        ("two", ErrorCode.none),
        ("nobody", ErrorCode.unknown_member_id),
    ]
    assert leader.heartbeat() == ErrorCode.rebalance_in_progress


def test_members_are_described_with_their_instance_ids(new_member: NewMember):
    leader, follower = stable_pair(new_member)

    described = describe(leader.connection, leader.group)

    assert {member.group_instance_id: member.member_id for member in described.members} == {
        "one": leader.member_id,
        "two": follower.member_id,
    }
