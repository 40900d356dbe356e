"""`group.initial.rebalance.delay.ms`: a new group waits a little for more members."""

from broker.groups.fakes import GroupRig
from headwater.broker.groups.group import GroupState


def test_without_a_delay_the_first_member_is_answered_at_once():
    assert GroupRig().join().response.generation_id == 1


def test_members_that_come_within_the_delay_are_in_the_first_generation():
    rig = GroupRig(initial_rebalance_delay_ms=3000)
    first = rig.join()
    rig.advance(2)
    second = rig.join()
    rig.advance(2)
    assert first.is_waiting  # the second member prolonged the wait

    rig.advance(2)

    assert first.response.generation_id == second.response.generation_id == 1
    assert len(first.response.members) == 2


def test_delay_is_not_prolonged_without_new_members():
    rig = GroupRig(initial_rebalance_delay_ms=3000)
    first = rig.join()

    rig.advance(2.9)
    assert first.is_waiting
    rig.advance(0.1)

    assert not first.is_waiting


def test_delay_is_never_longer_than_the_rebalance_timeout():
    rig = GroupRig(initial_rebalance_delay_ms=3000)
    first = rig.join(rebalance_s=7)
    for _ in range(6):
        rig.advance(1)
        rig.join(rebalance_s=7)
    assert first.is_waiting

    rig.advance(1)

    assert len(first.response.members) == 7


def test_group_whose_members_all_leave_during_the_delay_is_empty_after_it():
    rig = GroupRig(initial_rebalance_delay_ms=3000)
    rig.join()
    rig.leave("m1")
    assert rig.group.state is GroupState.PREPARING_REBALANCE

    rig.advance(3)

    assert rig.group.state is GroupState.EMPTY


def test_later_rebalances_are_not_delayed():
    rig = GroupRig(initial_rebalance_delay_ms=3000)
    rig.join()
    rig.advance(3)
    rig.sync("m1")

    assert rig.join("m1").response.generation_id == 2
