"""JoinGroup on one group: ids, leaders, generations, and who has to wait."""

import pytest

from broker.groups.fakes import GroupRig
from headwater.broker.groups.group import GroupState
from headwater.broker.groups.member import protocols_of
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol

NONE = ErrorCode.NONE


def test_new_member_is_told_its_id_first():
    rig = GroupRig()

    refused = rig.join(version=4)

    assert refused.error is ErrorCode.MEMBER_ID_REQUIRED
    assert refused.response.member_id == "m1"
    accepted = rig.join("m1", version=4)
    assert (accepted.error, accepted.response.member_id) == (NONE, "m1")


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_old_client_joins_in_one_request(version: int):
    rig = GroupRig()

    answer = rig.join(version=version)

    assert (answer.error, answer.response.generation_id) == (NONE, 1)


def test_first_member_leads_and_sees_the_members():
    rig = GroupRig()

    response = rig.join(protocols={"range": b"mine"}).response

    assert response.leader == response.member_id == "m1"
    assert (response.protocol_type, response.protocol_name) == ("consumer", "range")
    assert [(each.member_id, each.metadata) for each in response.members] == [("m1", b"mine")]


def test_second_member_waits_for_the_first_to_rejoin():
    rig = GroupRig()
    (first,) = rig.stable(1)

    second = rig.join()
    assert second.is_waiting
    assert rig.heartbeat(first) is ErrorCode.REBALANCE_IN_PROGRESS
    rejoined = rig.join(first)

    assert rejoined.response.generation_id == second.response.generation_id == 2
    assert rejoined.response.leader == second.response.leader == first
    assert len(rejoined.response.members) == 2
    assert second.response.members == []


def test_rebalance_waits_for_an_id_that_was_given_out():
    rig = GroupRig()
    (first,) = rig.stable(1)
    pending = rig.join(version=4).response.member_id
    second = rig.join()
    rejoined = rig.join(first)
    assert second.is_waiting

    third = rig.join(pending, version=4)

    assert {each.response.generation_id for each in (rejoined, second, third)} == {2}


def test_id_that_is_not_used_is_forgotten_after_the_session_timeout():
    rig = GroupRig()
    (first,) = rig.stable(1)
    pending = rig.join(version=4, session_s=10).response.member_id
    second = rig.join()
    rejoined = rig.join(first)

    rig.advance(10)

    assert rejoined.error is second.error is NONE
    assert rig.join(pending, version=4).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_unknown_member_id_is_refused():
    rig = GroupRig()
    rig.stable(1)

    answer = rig.join("nobody")

    assert (answer.error, answer.response.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "nobody")


def test_follower_that_rejoins_unchanged_gets_the_present_generation():
    rig = GroupRig()
    _, follower = rig.stable(2)
    generation = rig.group.generation

    answer = rig.join(follower)

    assert (answer.error, answer.response.generation_id) == (NONE, generation)
    assert answer.response.members == []
    assert rig.group.state is GroupState.STABLE


def test_leader_that_rejoins_starts_a_rebalance():
    rig = GroupRig()
    leader, follower = rig.stable(2)
    generation = rig.group.generation

    answer = rig.join(leader)
    assert answer.is_waiting
    rig.join(follower)

    assert answer.response.generation_id == generation + 1
    assert answer.response.leader == leader


def test_follower_with_new_metadata_starts_a_rebalance():
    rig = GroupRig()
    leader, follower = rig.stable(2)

    answer = rig.join(follower, protocols={"range": b"other topics"})
    assert answer.is_waiting
    rejoined = rig.join(leader)

    assert {each.metadata for each in rejoined.response.members} == {
        b"subscription",
        b"other topics",
    }


def test_member_whose_answer_was_lost_gets_it_again():
    rig = GroupRig()
    first = rig.join()

    again = rig.join("m1")

    assert again.response == first.response
    assert rig.group.state is GroupState.COMPLETING_REBALANCE


def test_member_with_new_metadata_before_sync_starts_over():
    rig = GroupRig()
    rig.join()

    answer = rig.join("m1", protocols={"range": b"changed"})

    assert answer.response.generation_id == 2
    assert answer.response.members[0].metadata == b"changed"


def test_join_sent_twice_answers_the_first_too():
    rig = GroupRig()
    (first,) = rig.stable(1)
    pending = rig.join(version=4).response.member_id

    lost = rig.join(pending, version=4)
    again = rig.join(pending, version=4)
    assert lost.error is ErrorCode.REBALANCE_IN_PROGRESS
    rig.join(first)

    assert again.error is NONE


def test_member_that_does_not_rejoin_in_time_is_left_behind():
    rig = GroupRig()
    slow, quick = rig.stable(2, session_s=30, rebalance_s=20)
    answer = rig.join(quick, protocols={"range": b"new"}, session_s=30, rebalance_s=20)

    rig.advance(19.9)
    assert answer.is_waiting
    rig.advance(0.1)

    assert answer.response.leader == quick
    assert [each.member_id for each in answer.response.members] == [quick]
    assert rig.heartbeat(slow) is ErrorCode.UNKNOWN_MEMBER_ID


def test_slowest_member_decides_how_long_a_rebalance_takes():
    rig = GroupRig()
    rig.join(session_s=1000, rebalance_s=500)
    rig.sync("m1")
    answer = rig.join(rebalance_s=10)

    rig.advance(290)
    assert answer.is_waiting
    rig.advance(9)
    assert answer.is_waiting


def test_new_member_gives_up_waiting_after_its_own_timeout():
    rig = GroupRig()
    rig.join(session_s=1800, rebalance_s=1800)
    rig.sync("m1")
    answer = rig.join()

    rig.advance(300)

    assert (answer.error, answer.response.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")


def test_group_ends_empty_if_nobody_rejoins():
    rig = GroupRig()
    rig.stable(2, session_s=1000, rebalance_s=20)
    rig.group.prepare_rebalance(rig.now)

    rig.advance(20)

    assert rig.group.state is GroupState.EMPTY
    assert rig.stored[-1].members == []
    assert rig.stored[-1].generation == rig.group.generation


@pytest.mark.parametrize(
    "fields",
    [
        {"protocol_type": "connect"},
        {"protocols": {"sticky": b""}},
        {"protocols": {}},
    ],
)
def test_member_that_does_not_fit_is_refused(fields: dict[str, object]):
    rig = GroupRig()
    rig.stable(1)

    assert rig.join(**fields).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("fields", [{"protocol_type": ""}, {"protocols": {}}])
def test_first_member_needs_a_protocol(fields: dict[str, object]):
    assert GroupRig().join(**fields).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_protocol_named_twice_counts_once():
    names = [("range", b"1"), ("sticky", b"2"), ("range", b"3")]
    request = JoinGroupRequest(
        protocols=[JoinGroupRequestProtocol(name=name, metadata=each) for name, each in names]
    )

    assert protocols_of(request) == (("range", b"1"), ("sticky", b"2"))


def test_full_group_turns_new_members_away():
    rig = GroupRig(max_size=2)
    first, second = rig.stable(2)

    answer = rig.join()

    assert (answer.error, answer.response.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    assert rig.heartbeat(first) is rig.heartbeat(second) is NONE


def test_during_a_rebalance_the_last_to_come_back_is_turned_away():
    rig = GroupRig(max_size=2)
    first, second = rig.stable(2)
    rig.group.prepare_rebalance(rig.now)
    newcomer = rig.join()
    rejoined = rig.join(first)

    late = rig.join(second)

    assert late.error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert rejoined.error is newcomer.error is NONE
    assert len(rejoined.response.members) == 2


def test_generation_goes_on_when_an_empty_group_is_joined_again():
    rig = GroupRig()
    (first,) = rig.stable(1)
    rig.leave(first)
    assert rig.group.state is GroupState.EMPTY

    assert rig.join().response.generation_id == 3


def test_concurrent_joins_do_not_make_members_unknown():
    """Nisshi's finding: UNKNOWN_MEMBER_ID while many members come at once."""
    rig = GroupRig()
    first, *_ = rig.stable(1)
    ids = [rig.join(version=5).response.member_id for _ in range(20)]
    waiting = [rig.join(each, version=5) for each in ids[:10]]
    waiting.append(rig.join(first))
    assert all(each.is_waiting for each in waiting)
    waiting += [rig.join(each, version=5) for each in ids[10:]]

    assert {each.error for each in waiting} == {NONE}
    assert {each.response.generation_id for each in waiting} == {2}
    for each in ids:
        assert rig.heartbeat(each) is NONE


def test_member_that_joins_while_others_sync_starts_over_without_losing_anyone():
    rig = GroupRig()
    first, second = rig.stable(2)
    rig.group.prepare_rebalance(rig.now)
    rig.join(first)
    rig.join(second)
    parked = rig.sync(second)

    third = rig.join()

    assert parked.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert rig.heartbeat(first) is ErrorCode.REBALANCE_IN_PROGRESS
    assert rig.join(first).is_waiting
    rig.join(second)
    assert third.error is NONE
    assert {each.id for each in rig.group.roster} == {first, second, third.response.member_id}
