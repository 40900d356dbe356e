"""SyncGroup on one group: assignments are given out once, and only when they are durable."""

import pytest

from broker.groups.fakes import GroupRig
from headwater.broker.groups.group import GroupState
from headwater.wire.error_codes import ErrorCode

NONE = ErrorCode.NONE


def joined_pair(rig: GroupRig) -> tuple[str, str]:
    """A leader and a follower, in a generation that waits for their syncs."""
    leader, follower = rig.stable(2)
    rig.join(leader)
    rig.join(follower)
    assert rig.group.state is GroupState.COMPLETING_REBALANCE
    return leader, follower


def test_each_member_gets_its_assignment():
    rig = GroupRig()
    leader, follower = joined_pair(rig)
    waiting = rig.sync(follower)
    assert waiting.is_waiting

    own = rig.sync(leader, {leader: b"for one", follower: b"for two"})

    assert (own.error, own.response.assignment) == (NONE, b"for one")
    assert (waiting.error, waiting.response.assignment) == (NONE, b"for two")
    assert (own.response.protocol_type, own.response.protocol_name) == ("consumer", "range")


def test_follower_that_syncs_after_the_leader_gets_its_assignment_at_once():
    rig = GroupRig()
    leader, follower = joined_pair(rig)
    rig.sync(leader, {follower: b"for two"})

    assert rig.sync(follower).response.assignment == b"for two"


def test_sync_of_a_stable_group_repeats_the_assignment():
    rig = GroupRig()
    (member,) = rig.stable(1)

    assert rig.sync(member).response.assignment == member.encode()


def test_member_without_an_assignment_gets_an_empty_one():
    rig = GroupRig()
    rig.join()

    assert rig.sync("m1", {}).response.assignment == b""


def test_nobody_is_answered_before_the_assignment_is_durable():
    rig = GroupRig()
    leader, follower = joined_pair(rig)
    rig.is_durable_at_once = False
    waiting = rig.sync(follower)
    own = rig.sync(leader, {leader: b"1", follower: b"2"})
    assert own.is_waiting
    assert waiting.is_waiting
    assert rig.group.state is GroupState.COMPLETING_REBALANCE

    rig.settle()

    assert own.error is waiting.error is NONE
    assert {each.member_id: each.assignment for each in rig.stored[-1].members} == {
        leader: b"1",
        follower: b"2",
    }


def test_assignment_that_cannot_be_stored_is_not_given_out():
    rig = GroupRig()
    leader, follower = joined_pair(rig)
    rig.is_durable_at_once = False
    waiting = rig.sync(follower)
    own = rig.sync(leader, {leader: b"1", follower: b"2"})

    rig.settle(ErrorCode.NOT_COORDINATOR)

    assert own.error is waiting.error is ErrorCode.NOT_COORDINATOR
    assert own.response.assignment == b""
    assert rig.group.state is GroupState.PREPARING_REBALANCE


def test_rebalance_that_begins_during_the_write_wins():
    rig = GroupRig()
    leader, follower = joined_pair(rig)
    rig.is_durable_at_once = False
    waiting = rig.sync(follower)
    own = rig.sync(leader, {leader: b"1", follower: b"2"})

    rig.join()
    assert own.error is waiting.error is ErrorCode.REBALANCE_IN_PROGRESS
    rig.settle()

    assert rig.group.state is GroupState.PREPARING_REBALANCE


def test_assignment_of_an_earlier_generation_is_not_given_out_when_its_write_ends():
    rig = GroupRig(is_durable_at_once=False)
    rig.join()
    rig.sync("m1", {"m1": b"old"})
    rig.join("m1", protocols={"range": b"changed"})
    assert rig.group.state is GroupState.COMPLETING_REBALANCE

    rig.settle()
    assert rig.group.state is GroupState.COMPLETING_REBALANCE
    answer = rig.sync("m1", {"m1": b"new"})
    rig.settle()

    assert answer.response.assignment == b"new"


def test_leader_that_syncs_twice_during_the_write_is_answered_twice():
    rig = GroupRig(is_durable_at_once=False)
    rig.join()
    first = rig.sync("m1", {"m1": b"1"})
    second = rig.sync("m1", {"m1": b"1"})
    assert first.error is ErrorCode.REBALANCE_IN_PROGRESS

    rig.settle()
    rig.settle()

    assert second.response.assignment == b"1"
    assert rig.group.state is GroupState.STABLE


def test_sync_while_members_join_is_refused():
    rig = GroupRig()
    (member,) = rig.stable(1)
    rig.join()

    assert rig.sync(member).error is ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"generation": 7}, ErrorCode.ILLEGAL_GENERATION),
        ({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"protocol_name": "sticky"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": "consumer", "protocol_name": "range"}, NONE),
    ],
)
def test_sync_that_does_not_match_is_refused(fields: dict[str, object], error: ErrorCode):
    rig = GroupRig()
    (member,) = rig.stable(1)

    assert rig.sync(**{"member_id": member, **fields}).error is error


def test_member_that_does_not_sync_in_time_is_left_behind():
    rig = GroupRig()
    leader, follower = joined_pair(rig)
    rig.sync(leader, {})
    for _ in range(12):
        rig.advance(5)
        rig.heartbeat(leader)
        rig.heartbeat(follower)

    assert follower not in rig.group.roster
    assert rig.group.state is GroupState.PREPARING_REBALANCE
    assert rig.heartbeat(leader) is ErrorCode.REBALANCE_IN_PROGRESS


def test_leader_that_does_not_sync_in_time_is_left_behind():
    rig = GroupRig()
    leader, follower = joined_pair(rig)
    waiting = rig.sync(follower)
    for _ in range(12):
        rig.advance(5)
        rig.heartbeat(leader)

    assert waiting.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert rig.group.roster.leader_id == follower


def test_stable_group_does_not_time_out_its_syncs():
    rig = GroupRig()
    members = rig.stable(2)
    for _ in range(30):
        rig.advance(5)
        for each in members:
            assert rig.heartbeat(each) is NONE
