"""Heartbeats, sessions and leaving on one group."""

from broker.groups.fakes import GroupRig
from headwater.broker.groups.group import GroupState
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.leave_group import MemberIdentity

NONE = ErrorCode.NONE


def test_heartbeat_codes():
    rig = GroupRig()
    (member,) = rig.stable(1)

    assert rig.heartbeat(member) is NONE
    assert rig.heartbeat(member, generation=9) is ErrorCode.ILLEGAL_GENERATION
    assert rig.heartbeat("nobody") is ErrorCode.UNKNOWN_MEMBER_ID


def test_heartbeat_before_the_assignment_is_there_is_fine():
    rig = GroupRig()
    rig.join()

    assert rig.heartbeat("m1") is NONE


def test_heartbeat_makes_no_timer():
    rig = GroupRig()
    (member,) = rig.stable(1)
    entries = len(rig.deadlines._heap)
    for _ in range(1000):
        rig.heartbeat(member)

    assert len(rig.deadlines._heap) == entries


def test_silent_member_is_expelled_after_its_session_timeout():
    rig = GroupRig()
    alive, silent = rig.stable(2)
    rig.advance(9)
    rig.heartbeat(alive)
    rig.advance(0.9)
    assert rig.heartbeat(alive) is NONE

    rig.advance(0.1)

    assert rig.heartbeat(alive) is ErrorCode.REBALANCE_IN_PROGRESS
    assert rig.heartbeat(silent) is ErrorCode.UNKNOWN_MEMBER_ID


def test_last_silent_member_leaves_an_empty_group():
    rig = GroupRig()
    rig.stable(1)

    rig.advance(10)

    assert rig.group.state is GroupState.EMPTY
    assert rig.group.state_since_ms == rig.now.ms
    assert rig.stored[-1].current_state_timestamp == rig.now.ms


def test_member_that_waits_for_a_generation_owes_no_heartbeat():
    rig = GroupRig()
    first, second = rig.stable(2)
    waiting = rig.join(first)
    for _ in range(10):
        rig.advance(5)
        rig.heartbeat(second)

    assert waiting.is_waiting
    rig.join(second)
    assert waiting.error is NONE


def test_member_that_waits_for_its_assignment_owes_no_heartbeat():
    rig = GroupRig()
    leader, follower = rig.stable(2)
    rig.join(leader)
    rig.join(follower)
    waiting = rig.sync(follower)
    for _ in range(5):
        rig.advance(9)
        rig.heartbeat(leader)
    rig.sync(leader, {})
    assert waiting.error is NONE

    rig.advance(9)
    assert rig.heartbeat(follower) is NONE


def test_expelled_member_completes_the_rebalance_that_waited_for_it():
    rig = GroupRig()
    silent, second = rig.stable(2)
    waiting = rig.join(second, protocols={"range": b"new"})

    rig.advance(10)

    assert (waiting.error, waiting.response.leader) == (NONE, second)
    assert silent not in rig.group.roster


def test_member_that_leaves_makes_the_others_rebalance():
    rig = GroupRig()
    first, second = rig.stable(2)

    assert rig.leave(first) == [NONE]

    assert rig.heartbeat(second) is ErrorCode.REBALANCE_IN_PROGRESS
    assert rig.heartbeat(first) is ErrorCode.UNKNOWN_MEMBER_ID
    assert rig.join(second).response.leader == second


def test_members_leave_together():
    rig = GroupRig()
    first, second = rig.stable(2)

    assert rig.leave(first, "nobody", second) == [NONE, ErrorCode.UNKNOWN_MEMBER_ID, NONE]

    assert rig.group.state is GroupState.EMPTY


def test_member_that_leaves_while_it_waits_is_answered():
    rig = GroupRig()
    leader, follower = rig.stable(2)
    joining = rig.join(leader)
    rig.leave(leader)
    assert joining.error is ErrorCode.UNKNOWN_MEMBER_ID

    rig.join(follower)
    other = rig.join()
    rig.join(follower)
    syncing = rig.sync(other.response.member_id)
    rig.leave(other.response.member_id)
    assert syncing.error is ErrorCode.UNKNOWN_MEMBER_ID


def test_static_member_is_removed_by_its_instance_id():
    rig = GroupRig()
    rig.join(instance_id="one")

    assert rig.leave(
        MemberIdentity(group_instance_id="one"), MemberIdentity(group_instance_id="two")
    ) == [NONE, ErrorCode.UNKNOWN_MEMBER_ID]


def test_leaver_without_any_id_is_unknown():
    assert GroupRig().leave(MemberIdentity()) == [ErrorCode.UNKNOWN_MEMBER_ID]


def test_pending_member_can_leave_and_nobody_rebalances():
    rig = GroupRig()
    (member,) = rig.stable(1)
    pending = rig.join(version=4).response.member_id

    assert rig.leave(pending) == [NONE]

    assert rig.heartbeat(member) is NONE
    assert rig.join(pending).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_rebalance_goes_on_when_the_pending_member_it_waits_for_leaves():
    rig = GroupRig()
    (member,) = rig.stable(1)
    pending = rig.join(version=4).response.member_id
    waiting = rig.join(member)

    rig.leave(pending)

    assert waiting.error is NONE


def test_closed_group_answers_everyone():
    rig = GroupRig()
    (first,) = rig.stable(1)
    rig.join(version=4)
    joining = rig.join()

    rig.group.close(rig.now, ErrorCode.NOT_COORDINATOR)

    assert joining.error is ErrorCode.NOT_COORDINATOR
    assert rig.heartbeat(first) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert rig.join(first).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert rig.sync(first).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    rig.advance(1000)
    assert rig.group.state is GroupState.DEAD


def test_parked_sync_is_answered_when_the_group_closes():
    rig = GroupRig()
    leader, follower = rig.stable(2)
    rig.join(leader)
    rig.join(follower)
    waiting = rig.sync(follower)

    rig.group.close(rig.now, ErrorCode.NOT_COORDINATOR)

    assert waiting.error is ErrorCode.NOT_COORDINATOR
