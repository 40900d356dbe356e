"""The offsets that groups have committed, in memory.

Invariant: what can be read here is durable. Of offsets on their way to the disk only the partition
is known, so that a deletion which overtakes them in memory also deletes them in the log.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from headwater.broker.groups.records import CommittedOffset, TopicPartition


class OffsetTable:
    """Committed offsets by group and partition."""

    def __init__(self) -> None:
        self._durable: dict[str, dict[TopicPartition, CommittedOffset]] = {}
        self._unsettled: dict[str, Counter[TopicPartition]] = {}

    def of(self, group_id: str) -> Mapping[TopicPartition, CommittedOffset]:
        """The durable offsets of a group; a view, not a copy."""
        return MappingProxyType(self._durable.get(group_id, {}))

    def group_ids(self) -> set[str]:
        """Groups that have durable offsets."""
        return set(self._durable)

    def put(self, group_id: str, partition: TopicPartition, committed: CommittedOffset) -> None:
        self._durable.setdefault(group_id, {})[partition] = committed

    def discard(self, group_id: str, partitions: Iterable[TopicPartition]) -> None:
        offsets = self._durable.get(group_id, {})
        for partition in partitions:
            offsets.pop(partition, None)
        if not offsets:
            self._durable.pop(group_id, None)

    def begin(self, group_id: str, partitions: Iterable[TopicPartition]) -> None:
        """Note offsets that are being written."""
        self._unsettled.setdefault(group_id, Counter()).update(iter(partitions))

    def settle(self, group_id: str, partitions: Iterable[TopicPartition]) -> None:
        """Note that a write begun before has ended, well or not."""
        left = self._unsettled[group_id]
        left.subtract(iter(partitions))
        self._unsettled[group_id] = +left
        if not self._unsettled[group_id]:
            del self._unsettled[group_id]

    def unsettled(self, group_id: str) -> set[TopicPartition]:
        return set(self._unsettled.get(group_id, ()))

    def in_log(self, group_id: str) -> set[TopicPartition]:
        """Partitions for which the log holds, or may come to hold, an offset of this group."""
        return self.unsettled(group_id) | self._durable.get(group_id, {}).keys()
