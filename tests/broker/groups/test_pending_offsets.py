"""Offsets of open transactions: what concerns one group costs nothing for the others'."""

from headwater.broker.groups.pending_offsets import PendingOffset, PendingOffsets
from headwater.broker.groups.records import CommittedOffset, TopicPartition

ONE, TWO = TopicPartition("t", 0), TopicPartition("t", 1)
COUNT = 5000


class CountedId(str):
    """A group id that counts how often it is compared with another."""

    __slots__ = ()
    comparisons = 0

    def __eq__(self, other: object) -> bool:
        CountedId.comparisons += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def pending_of(*each: tuple[int, str, TopicPartition]) -> PendingOffsets:
    pending = PendingOffsets()
    for producer_id, group_id, partition in each:
        pending.put(
            producer_id, PendingOffset(group_id, partition, CommittedOffset(offset=producer_id))
        )
    return pending


def test_asking_for_one_group_does_not_look_at_all_the_others() -> None:
    pending = pending_of(*((each, CountedId(f"g{each}"), ONE) for each in range(COUNT)))
    CountedId.comparisons = 0
    assert pending.of("g7") == {ONE}
    pending.discard("g7", [ONE, TWO])
    assert pending.of("g7") == set()
    assert CountedId.comparisons < 100


def test_two_transactions_may_have_an_offset_of_the_same_partition() -> None:
    pending = pending_of((1, "g", ONE), (2, "g", ONE), (2, "g", TWO))
    assert [each.committed.offset for each in pending.take(1)] == [1]
    assert pending.of("g") == {ONE, TWO}
    assert [each.partition for each in pending.take(2)] == [ONE, TWO]
    assert (pending.of("g"), pending.take(2)) == (set(), [])


def test_what_is_discarded_is_in_no_transaction() -> None:
    pending = pending_of((1, "g", ONE), (2, "g", ONE), (2, "h", ONE))
    pending.discard("g", [ONE])
    assert (pending.of("g"), pending.take(1)) == (set(), [])
    assert [each.group_id for each in pending.take(2)] == ["h"]


def test_transactions_that_ended_leave_nothing_behind() -> None:
    pending = pending_of((1, "g", ONE), (2, "h", TWO))
    pending.take(1)
    pending.discard("h", [TWO])
    assert vars(pending) == vars(PendingOffsets())
