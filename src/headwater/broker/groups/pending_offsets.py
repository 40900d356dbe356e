"""Offsets that were committed in a transaction which has not ended: nobody reads them yet."""

from collections.abc import Iterable
from typing import NamedTuple

from headwater.broker.groups.records import CommittedOffset, TopicPartition


class PendingOffset(NamedTuple):
    """An offset that counts if its transaction is committed."""

    group_id: str
    partition: TopicPartition
    committed: CommittedOffset


class PendingOffsets:
    """By producer id, as a producer has at most one transaction; and which producers have one, by group."""

    def __init__(self) -> None:
        self._by_producer: dict[int, dict[tuple[str, TopicPartition], CommittedOffset]] = {}
        self._producers: dict[str, dict[TopicPartition, set[int]]] = {}

    def put(self, producer_id: int, pending: PendingOffset) -> None:
        group_id, partition, committed = pending
        self._by_producer.setdefault(producer_id, {})[group_id, partition] = committed
        self._producers.setdefault(group_id, {}).setdefault(partition, set()).add(producer_id)

    def take(self, producer_id: int) -> list[PendingOffset]:
        """Remove and return what a transaction has committed, now that it ends."""
        offsets = self._by_producer.pop(producer_id, {})
        for group_id, partition in offsets:
            producers = self._producers[group_id][partition]
            producers.remove(producer_id)
            if not producers:
                self._forget(group_id, partition)
        return [PendingOffset(*key, committed) for key, committed in offsets.items()]

    def discard(self, group_id: str, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            for producer_id in self._producers.get(group_id, {}).get(partition, ()):
                offsets = self._by_producer[producer_id]
                del offsets[group_id, partition]
                if not offsets:
                    del self._by_producer[producer_id]
            self._forget(group_id, partition)

    def group_ids(self) -> set[str]:
        return set(self._producers)

    def of(self, group_id: str) -> set[TopicPartition]:
        """Partitions for which a transaction that may still be committed has an offset of the group."""
        return set(self._producers.get(group_id, ()))

    def _forget(self, group_id: str, partition: TopicPartition) -> None:
        partitions = self._producers.get(group_id, {})
        partitions.pop(partition, None)
        if not partitions:
            self._producers.pop(group_id, None)
