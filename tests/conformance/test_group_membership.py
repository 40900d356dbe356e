"""Classic consumer groups: joining, syncing, heartbeats, leaving, and being thrown out."""

import time
from collections.abc import Callable
from typing import Any, Final

import pytest

from conformance.calls import eventually
from conformance.members import Member, describe, state_of, subscription
from conformance.raw import Connection, ErrorCode

NewMember = Callable[..., Member]
OTHER: Final = subscription("other-topic")


@pytest.fixture
def new_member(connect: Any, group: str) -> NewMember:
    """Members of one group, each on a connection of its own."""
    return lambda **fields: Member(connect(), group, **fields)


def stable_pair(new_member: NewMember) -> tuple[Member, Member]:
    """A stable group of two: its leader, and the other."""
    leader, follower = new_member(), new_member()
    leader.enter_alone()
    follower.send_join()
    eventually(lambda: leader.heartbeat() == ErrorCode.rebalance_in_progress)
    leader.join()
    follower.receive_join()
    follower.send_sync()
    leader.sync({leader.member_id: b"first", follower.member_id: b"second"})
    follower.connection.receive()
    return leader, follower


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_old_versions_join_without_a_member_id(new_member: NewMember, version: int):
    response = new_member().request_join(version)

    assert response.error_code == ErrorCode.none
    assert response.generation_id == 1
    assert response.member_id
    assert response.leader == response.member_id


@pytest.mark.parametrize("version", [4, 5, 6, 7, 8, 9])
def test_member_id_is_required_and_given(new_member: NewMember, version: int):
    member = new_member()

    refused = member.request_join(version)
    assert refused.error_code == ErrorCode.member_id_required
    assert refused.member_id
    member.member_id = refused.member_id
    accepted = member.request_join(version)

    assert accepted.error_code == ErrorCode.none
    assert accepted.member_id == refused.member_id


def test_member_id_starts_with_the_client_id(new_member: NewMember):
    assert new_member().request_join().member_id.startswith("conformance-")


def test_first_member_leads_generation_1_and_sees_the_members(new_member: NewMember):
    reads = subscription("some-topic")
    member = new_member(protocols={"range": reads})

    response = member.join()

    assert response.error_code == ErrorCode.none
    assert response.generation_id == 1
    assert (response.protocol_type, response.protocol_name) == ("consumer", "range")
    assert response.leader == response.member_id == member.member_id
    (listed,) = response.members
    assert (listed.member_id, listed.metadata) == (member.member_id, reads)
    assert listed.group_instance_id is None


def test_second_member_makes_a_new_generation(new_member: NewMember):
    leader, follower = new_member(), new_member(protocols={"range": OTHER})
    leader.enter_alone()

    follower.send_join()
    eventually(lambda: leader.heartbeat() == ErrorCode.rebalance_in_progress)
    of_leader = leader.join()
    of_follower = follower.receive_join()

    assert of_leader.generation_id == of_follower.generation_id == 2
    assert of_leader.leader == of_follower.leader == leader.member_id
    assert {listed.member_id: listed.metadata for listed in of_leader.members} == {
        leader.member_id: subscription(),
        follower.member_id: OTHER,
    }
    assert of_follower.members == []


def test_assignments_of_the_leader_reach_each_member(new_member: NewMember):
    leader, follower = new_member(), new_member()
    leader.enter_alone()
    follower.send_join()
    eventually(lambda: leader.heartbeat() == ErrorCode.rebalance_in_progress)
    leader.join()
    follower.receive_join()

    follower.send_sync()
    of_leader = leader.sync({leader.member_id: b"for one", follower.member_id: b"for two"})
    of_follower = follower.connection.receive()

    assert (of_leader.error_code, of_leader.assignment) == (ErrorCode.none, b"for one")
    assert (of_follower.error_code, of_follower.assignment) == (ErrorCode.none, b"for two")
    assert (of_leader.protocol_type, of_leader.protocol_name) == ("consumer", "range")
    assert leader.heartbeat() == follower.heartbeat() == ErrorCode.none


def test_member_without_an_assignment_gets_an_empty_one(new_member: NewMember):
    member = new_member()
    member.join()

    assert member.sync({}).assignment == b""


def test_sync_of_a_stable_group_repeats_the_assignment(new_member: NewMember):
    member = new_member()
    member.enter_alone(b"mine")

    assert member.sync().assignment == b"mine"


def test_protocol_that_all_members_have_is_chosen(new_member: NewMember):
    leader = new_member(protocols={"sticky": OTHER, "range": subscription()})
    follower = new_member(protocols={"range": subscription(), "roundrobin": OTHER})
    leader.enter_alone()
    follower.send_join()
    eventually(lambda: leader.heartbeat() == ErrorCode.rebalance_in_progress)

    response = leader.join()

    assert response.protocol_name == "range"
    assert [listed.metadata for listed in response.members] == [subscription()] * 2


def test_protocol_preferred_by_most_members_wins(connection: Connection, new_member: NewMember):
    first = new_member(protocols={"range": subscription(), "sticky": subscription()})
    others = [
        new_member(protocols={"sticky": subscription(), "range": subscription()}) for _ in range(2)
    ]
    first.enter_alone()
    for other in others:
        other.send_join()
    eventually(lambda: len(describe(connection, first.group).members) == 3)

    first.join()

    assert others[0].receive_join().protocol_name == "sticky"


def test_cooperative_metadata_and_assignment_pass_through(new_member: NewMember):
    owned = subscription("some-topic", user_data=bytes(range(256)))
    member = new_member(protocols={"cooperative-sticky": owned})

    response = member.join()
    synced = member.sync({member.member_id: owned[::-1]})

    assert response.protocol_name == "cooperative-sticky"
    assert response.members[0].metadata == owned
    assert synced.assignment == owned[::-1]


def test_protocol_type_other_than_the_groups_is_refused(new_member: NewMember):
    new_member().enter_alone()

    response = new_member(protocol_type="connect").request_join()

    assert response.error_code == ErrorCode.inconsistent_group_protocol


def test_no_common_protocol_is_refused(new_member: NewMember):
    new_member().enter_alone()

    response = new_member(protocols={"sticky": subscription()}).request_join()

    assert response.error_code == ErrorCode.inconsistent_group_protocol


def test_no_protocol_at_all_is_refused(new_member: NewMember):
    assert new_member(protocols={}).request_join().error_code == (
        ErrorCode.inconsistent_group_protocol
    )


def test_any_protocol_type_makes_a_group(new_member: NewMember):
    opaque = bytes(range(256))
    member = new_member(protocol_type="connect", protocols={"default": opaque})

    response = member.join()

    assert (response.error_code, response.protocol_type) == (ErrorCode.none, "connect")
    assert response.members[0].metadata == opaque


def test_unknown_member_id_is_refused(new_member: NewMember):
    assert new_member(member_id="nobody").request_join().error_code == ErrorCode.unknown_member_id


@pytest.mark.parametrize(("version", "protocol"), [(6, ""), (7, None), (9, None)])
def test_refused_join_names_no_protocol(new_member: NewMember, version: int, protocol: str | None):
    for member in (new_member(member_id="nobody"), new_member()):
        refused = member.request_join(version)
        assert refused.error_code != ErrorCode.none
        assert refused.protocol_name == protocol


def test_unknown_member_id_in_a_living_group_is_refused(new_member: NewMember):
    new_member().enter_alone()

    assert new_member(member_id="nobody").request_join().error_code == ErrorCode.unknown_member_id


@pytest.mark.usefixtures("coordinator")
def test_empty_group_id_is_refused(connection: Connection):
    assert Member(connection, "").request_join().error_code == ErrorCode.invalid_group_id


@pytest.mark.parametrize("timeout_ms", [5_999, 1_800_001])
def test_session_timeout_out_of_range_is_refused(new_member: NewMember, timeout_ms: int):
    response = new_member(session_timeout_ms=timeout_ms).request_join()

    assert response.error_code == ErrorCode.invalid_session_timeout


def test_follower_that_joins_again_unchanged_gets_the_same_generation(new_member: NewMember):
    _leader, follower = stable_pair(new_member)

    response = follower.join()

    assert (response.error_code, response.generation_id) == (ErrorCode.none, 2)


def test_leader_that_joins_again_starts_a_rebalance(new_member: NewMember):
    leader, follower = stable_pair(new_member)

    leader.send_join()
    eventually(lambda: follower.heartbeat() == ErrorCode.rebalance_in_progress)
    follower.join()

    assert leader.receive_join().generation_id == 3


def test_member_with_a_new_subscription_starts_a_rebalance(new_member: NewMember):
    leader, follower = stable_pair(new_member)

    follower.protocols = {"range": OTHER}
    follower.send_join()
    eventually(lambda: leader.heartbeat() == ErrorCode.rebalance_in_progress)
    response = leader.join()

    assert response.generation_id == 3
    assert {listed.metadata for listed in response.members} == {subscription(), OTHER}


def test_sync_of_another_generation(new_member: NewMember):
    member = new_member()
    member.join()

    assert member.sync(generation_id=7).error_code == ErrorCode.illegal_generation


def test_sync_of_an_unknown_member(new_member: NewMember):
    member = new_member()
    member.join()

    assert member.sync(member_id="nobody").error_code == ErrorCode.unknown_member_id


def test_sync_of_an_unknown_group(new_member: NewMember):
    member = new_member(member_id="nobody", generation=1)

    assert member.sync().error_code == ErrorCode.unknown_member_id


@pytest.mark.parametrize("fields", [{"protocol_name": "other"}, {"protocol_type": "other"}])
def test_sync_with_another_protocol(new_member: NewMember, fields: dict[str, str]):
    member = new_member()
    member.join()

    assert member.sync(**fields).error_code == ErrorCode.inconsistent_group_protocol


def test_sync_while_members_join(new_member: NewMember):
    first, second = new_member(), new_member()
    first.enter_alone()
    second.send_join()
    eventually(lambda: first.heartbeat() == ErrorCode.rebalance_in_progress)

    assert first.sync().error_code == ErrorCode.rebalance_in_progress


def test_waiting_sync_ends_when_a_member_leaves(new_member: NewMember):
    first, second = new_member(), new_member()
    first.enter_alone()
    second.send_join()
    eventually(lambda: first.heartbeat() == ErrorCode.rebalance_in_progress)
    first.join()
    second.receive_join()
    second.send_sync()

    first.leave()

    assert second.connection.receive().error_code == ErrorCode.rebalance_in_progress


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
def test_heartbeat_in_every_version(new_member: NewMember, version: int):
    member = new_member()
    member.enter_alone()

    response = member.connection.request(
        "heartbeat",
        version,
        group_id=member.group,
        generation_id=member.generation,
        member_id=member.member_id,
    )

    assert response.error_code == ErrorCode.none


def test_heartbeat_of_another_generation(new_member: NewMember):
    member = new_member()
    member.enter_alone()

    assert member.heartbeat(generation_id=5) == ErrorCode.illegal_generation


def test_heartbeat_of_an_unknown_member(new_member: NewMember):
    member = new_member()
    member.enter_alone()

    assert member.heartbeat(member_id="nobody") == ErrorCode.unknown_member_id


def test_heartbeat_of_an_unknown_group(new_member: NewMember):
    assert new_member(member_id="x", generation=1).heartbeat() == ErrorCode.unknown_member_id


def test_heartbeat_before_the_assignment_is_there(new_member: NewMember):
    member = new_member()
    member.join()

    assert member.heartbeat() == ErrorCode.none


@pytest.mark.parametrize("version", [0, 1, 2])
def test_leave_one_by_one_in_old_versions(new_member: NewMember, version: int):
    member = new_member()
    member.enter_alone()

    response = member.connection.request(
        "leave_group", version, group_id=member.group, member_id=member.member_id
    )

    assert response.error_code == ErrorCode.none
    assert state_of(member.connection, member.group) == "Empty"


def test_leave_together(new_member: NewMember):
    leader, follower = stable_pair(new_member)

    response = leader.connection.request(
        "leave_group",
        5,
        group_id=leader.group,
        members=[
            {"member_id": leader.member_id, "reason": "done"},
            {"member_id": "nobody"},
            {"member_id": follower.member_id},
        ],
    )

    assert response.error_code == ErrorCode.none
    assert [(left.member_id, left.error_code) for left in response.members] == [
        (leader.member_id, ErrorCode.none),
        ("nobody", ErrorCode.unknown_member_id),
        (follower.member_id, ErrorCode.none),
    ]
    assert state_of(leader.connection, leader.group) == "Empty"


def test_leaving_makes_the_others_rebalance(new_member: NewMember):
    leader, follower = stable_pair(new_member)

    leader.leave()
    assert follower.heartbeat() == ErrorCode.rebalance_in_progress
    response = follower.join()

    assert (response.generation_id, response.leader) == (3, follower.member_id)
    assert leader.heartbeat() == ErrorCode.unknown_member_id


def test_leave_of_an_unknown_group(new_member: NewMember):
    response = new_member(member_id="nobody").leave()

    assert response.error_code == ErrorCode.none
    assert [left.error_code for left in response.members] == [ErrorCode.unknown_member_id]


def test_generation_goes_on_when_an_empty_group_is_joined_again(new_member: NewMember):
    first = new_member()
    first.enter_alone()
    first.leave()

    # Leaving makes a generation without members.
    assert new_member().join().generation_id == 3


def test_silent_member_is_expelled_after_its_session_timeout(new_member: NewMember):
    alive, silent = new_member(), new_member(session_timeout_ms=6_000)
    alive.enter_alone()
    silent.send_join()
    eventually(lambda: alive.heartbeat() == ErrorCode.rebalance_in_progress)
    alive.join()
    silent.receive_join()
    silent.send_sync()
    alive.sync()
    silent.connection.receive()
    began = time.monotonic()

    eventually(lambda: alive.heartbeat() == ErrorCode.rebalance_in_progress)

    assert 5 < time.monotonic() - began < 10
    assert [listed.member_id for listed in alive.join().members] == [alive.member_id]
    assert silent.heartbeat() == ErrorCode.unknown_member_id


def test_member_that_does_not_rejoin_in_time_is_left_behind(new_member: NewMember):
    slow, quick = new_member(rebalance_timeout_ms=500), new_member(rebalance_timeout_ms=500)
    slow.enter_alone()
    began = time.monotonic()

    response = quick.join()

    assert 0.45 < time.monotonic() - began < 5
    assert [listed.member_id for listed in response.members] == [quick.member_id]
    assert response.leader == quick.member_id
    assert slow.heartbeat() == ErrorCode.unknown_member_id


def test_member_that_does_not_sync_in_time_is_left_behind(new_member: NewMember):
    leader, follower = new_member(), new_member()
    leader.rebalance_timeout_ms = follower.rebalance_timeout_ms = 1_000
    leader.enter_alone()
    follower.send_join()
    eventually(lambda: leader.heartbeat() == ErrorCode.rebalance_in_progress)
    leader.join()
    follower.receive_join()

    # The leader has assigned, the follower has not asked: KIP-345's pending sync.
    leader.sync()

    eventually(lambda: leader.heartbeat() == ErrorCode.rebalance_in_progress)
    assert [listed.member_id for listed in leader.join().members] == [leader.member_id]


def test_twenty_members_join_at_once(connection: Connection, new_member: NewMember):
    first, *others = [new_member() for _ in range(20)]
    first.enter_alone()
    for other in others:
        other.send_join()
    eventually(lambda: len(describe(connection, first.group).members) == 20)

    responses = [first.join(), *(other.receive_join() for other in others)]

    assert {response.error_code for response in responses} == {ErrorCode.none}
    assert {response.generation_id for response in responses} == {2}
    assert {response.leader for response in responses} == {first.member_id}
    assert sorted(len(response.members) for response in responses) == [0] * 19 + [20]
