"""Offsets that were committed in a transaction which has not ended: nobody reads them yet."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from headwater.broker.groups.records import CommittedOffset, TopicPartition


class PendingOffset(NamedTuple):
    """An offset that counts if its transaction is committed."""

    group_id: str
    partition: TopicPartition
    committed: CommittedOffset


class PendingOffsets:
    """By producer id: a producer has at most one transaction."""

    def __init__(self) -> None:
        self._by_producer: dict[int, dict[tuple[str, TopicPartition], CommittedOffset]] = {}

    def __iter__(self) -> Iterator[PendingOffset]:
        for offsets in self._by_producer.values():
            for (group_id, partition), committed in offsets.items():
                yield PendingOffset(group_id, partition, committed)

    def put(self, producer_id: int, pending: PendingOffset) -> None:
        key = (pending.group_id, pending.partition)
        self._by_producer.setdefault(producer_id, {})[key] = pending.committed

    def take(self, producer_id: int) -> list[PendingOffset]:
        """Remove and return what a transaction has committed, now that it ends."""
        offsets = self._by_producer.pop(producer_id, {})
        return [PendingOffset(*key, committed) for key, committed in offsets.items()]

    def discard(self, group_id: str, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            for offsets in self._by_producer.values():
                offsets.pop((group_id, partition), None)

    def of(self, group_id: str) -> set[TopicPartition]:
        """Partitions for which a transaction that may still be committed has an offset of the group."""
        return {each.partition for each in self if each.group_id == group_id}
