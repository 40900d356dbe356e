"""Bounded reading, as bookkeeping."""

from headwater.client.offset_range import Bounds
from headwater.client.read_bounds import ReadBounds

P0, P1 = ("t", 0), ("t", 1)


def test_an_unbounded_partition_is_never_done() -> None:
    bounds = ReadBounds()
    bounds.assign(P0, Bounds(0))
    bounds.reach(P0, 10**9)
    assert not bounds.is_done


def test_done_when_every_partition_has_reached_its_bound() -> None:
    bounds = ReadBounds()
    bounds.assign(P0, Bounds(0, 2))
    bounds.assign(P1, Bounds(5, 5))
    assert not bounds.is_done
    bounds.reach(P0, 2)
    assert bounds.is_done


def test_a_record_past_the_bound_closes_the_partition_and_is_not_wanted() -> None:
    bounds = ReadBounds()
    bounds.assign(P0, Bounds(0, 5))
    assert bounds.wants(P0, 4)
    assert not bounds.wants(P0, 7)
    assert bounds.is_done


def test_records_before_the_start_or_of_revoked_partitions_are_not_wanted() -> None:
    bounds = ReadBounds()
    bounds.assign(P0, Bounds(10))
    assert not bounds.wants(P0, 9)
    bounds.revoke(P0)
    assert not bounds.wants(P0, 10)
    assert bounds.assigned == frozenset()


def test_moving_back_opens_a_done_partition() -> None:
    bounds = ReadBounds()
    bounds.assign(P0, Bounds(0, 2))
    bounds.reach(P0, 2)
    bounds.move(P0, 1)
    assert not bounds.is_done
    assert not bounds.wants(P0, 0)
