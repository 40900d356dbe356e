"""Static members (KIP-345, KIP-814): a restart is no rebalance, and a twin is fenced."""

from broker.groups.fakes import GroupRig
from headwater.broker.groups.group import GroupState
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.leave_group import MemberIdentity

NONE = ErrorCode.NONE
FENCED = ErrorCode.FENCED_INSTANCE_ID


def stable_pair(rig: GroupRig) -> tuple[str, str]:
    """A stable group of `one`, which leads, and `two`."""
    leader = rig.join(instance_id="one", version=9).response.member_id
    rig.sync(leader, instance_id="one")
    waiting = rig.join(instance_id="two", version=9)
    rig.join(leader, instance_id="one", version=9)
    follower = waiting.response.member_id
    rig.sync_all([leader, follower])
    assert rig.group.state is GroupState.STABLE
    return leader, follower


def test_static_member_joins_in_one_request():
    assert GroupRig().join(instance_id="one", version=9).error is NONE


def test_restarted_follower_has_its_assignment_without_a_rebalance():
    rig = GroupRig()
    leader, follower = stable_pair(rig)
    generation = rig.group.generation

    answer = rig.join(instance_id="two", version=9)

    new = answer.response.member_id
    assert new != follower
    assert (answer.error, answer.response.generation_id) == (NONE, generation)
    assert not answer.response.skip_assignment
    assert rig.sync(new, instance_id="two").response.assignment == follower.encode()
    assert rig.heartbeat(leader) is rig.heartbeat(new) is NONE


def test_old_owner_of_an_instance_id_is_fenced_everywhere():
    rig = GroupRig()
    _, old = stable_pair(rig)
    rig.join(instance_id="two", version=9)

    assert rig.heartbeat(old, instance_id="two") is FENCED
    assert rig.sync(old, instance_id="two").error is FENCED
    assert rig.join(old, instance_id="two").error is FENCED
    assert rig.leave(MemberIdentity(member_id=old, group_instance_id="two")) == [FENCED]


def test_restarted_leader_is_told_to_keep_the_assignment():
    rig = GroupRig()
    old, follower = stable_pair(rig)

    response = rig.join(instance_id="one", version=9).response

    assert response.leader == response.member_id != old
    assert response.skip_assignment
    assert {each.member_id for each in response.members} == {response.member_id, follower}
    assert rig.heartbeat(follower) is NONE


def test_restarted_leader_of_an_old_client_takes_itself_for_a_follower():
    rig = GroupRig()
    old, _ = stable_pair(rig)

    response = rig.join(instance_id="one", version=8).response

    assert response.leader == old != response.member_id
    assert not response.skip_assignment
    assert list(response.members) == []


def test_restart_that_changes_the_chosen_protocol_is_a_rebalance():
    rig = GroupRig()
    both = {"range": b"", "sticky": b""}
    leader = rig.join(instance_id="one", protocols=both).response.member_id
    rig.sync(leader, instance_id="one")

    answer = rig.join(instance_id="one", protocols={"sticky": b""})

    assert answer.response.generation_id == 2
    assert answer.response.protocol_name == "sticky"


def test_restart_between_join_and_sync_is_a_rebalance():
    rig = GroupRig()
    leader, follower = stable_pair(rig)
    rig.join(leader, instance_id="one", version=9)
    rig.join(follower, instance_id="two", version=9)
    assert rig.group.state is GroupState.COMPLETING_REBALANCE
    parked = rig.sync(follower, instance_id="two")

    answer = rig.join(instance_id="two", version=9)

    assert parked.error is FENCED
    assert answer.is_waiting
    rig.join(leader, instance_id="one", version=9)
    assert answer.error is NONE


def test_twin_that_waits_for_a_generation_is_fenced_at_once():
    rig = GroupRig()
    stable_pair(rig)
    waiting = rig.join(instance_id="three", version=9)

    twin = rig.join(instance_id="three", version=9)

    assert waiting.error is FENCED
    assert twin.is_waiting
    rig.advance(60)
    assert twin.error is NONE


def test_restart_is_answered_after_the_new_id_is_durable():
    rig = GroupRig()
    stable_pair(rig)
    rig.is_durable_at_once = False

    answer = rig.join(instance_id="two", version=9)
    assert answer.is_waiting
    rig.settle()

    assert answer.error is NONE
    assert answer.response.member_id in {each.member_id for each in rig.stored[-1].members}


def test_restart_that_cannot_be_stored_leaves_the_old_member_in_place():
    rig = GroupRig()
    leader, follower = stable_pair(rig)
    rig.is_durable_at_once = False
    answer = rig.join(instance_id="one", version=9)

    rig.settle(ErrorCode.NOT_COORDINATOR)

    assert (answer.error, answer.response.member_id) == (ErrorCode.NOT_COORDINATOR, "")
    assert rig.heartbeat(leader, instance_id="one") is NONE
    assert rig.group.roster.leader_id == leader
    assert rig.heartbeat(follower, instance_id="two") is NONE


def test_rebalance_during_the_write_answers_the_restarted_member():
    rig = GroupRig()
    leader, _ = stable_pair(rig)
    rig.is_durable_at_once = False
    answer = rig.join(instance_id="two", version=9)

    rig.join(leader, instance_id="one", version=9)
    assert answer.error is NONE
    rig.settle()

    assert answer.response.generation_id == rig.group.generation


def test_static_member_that_is_late_stays_in_the_group():
    rig = GroupRig()
    leader, follower = stable_pair(rig)
    rig.heartbeat(follower, instance_id="two")
    answer = rig.join(leader, instance_id="one", version=9, session_s=100)
    for _ in range(12):
        rig.advance(5)
        rig.heartbeat(follower, generation=rig.group.generation, instance_id="two")

    assert {each.member_id for each in answer.response.members} == {leader, follower}


def test_rebalance_waits_until_the_sessions_of_silent_static_members_end():
    rig = GroupRig()
    stable_pair(rig)
    rig.group.prepare_rebalance(rig.now)

    rig.advance(9)
    assert rig.group.state is GroupState.PREPARING_REBALANCE
    rig.advance(1)

    assert rig.group.state is GroupState.EMPTY


def test_static_members_with_a_rebalance_timeout_of_zero_do_not_make_us_spin():
    rig = GroupRig()
    member = rig.join(instance_id="one", rebalance_s=0).response.member_id
    rig.sync(member, instance_id="one")
    rig.group.prepare_rebalance(rig.now)

    rig.advance(9.9)
    assert rig.group.state is GroupState.PREPARING_REBALANCE
    rig.advance(0.1)

    assert rig.group.state is GroupState.EMPTY


def test_unknown_instance_id_is_an_unknown_member():
    rig = GroupRig()
    leader, _ = stable_pair(rig)

    assert rig.heartbeat(leader, instance_id="three") is ErrorCode.UNKNOWN_MEMBER_ID


def test_pending_id_with_an_instance_id_is_an_unknown_member():
    rig = GroupRig()
    pending = rig.join(version=4).response.member_id

    assert rig.join(pending, instance_id="one").error is ErrorCode.UNKNOWN_MEMBER_ID
