"""The offsets that groups have committed, in memory.

Invariant: what can be read here is durable. Of offsets on their way to the disk only the partition
is known, so that a deletion which overtakes them in memory also deletes them in the log. The same holds
for offsets in transactions that have not ended (`pending`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from headwater.broker.groups.pending_offsets import PendingOffsets
from headwater.broker.groups.records import CommittedOffset, TopicPartition


class OffsetTable:
    """Committed offsets by group and partition."""

    def __init__(self) -> None:
        self._durable: dict[str, dict[TopicPartition, CommittedOffset]] = {}
        self._unsettled: dict[str, Counter[TopicPartition]] = {}
        self.pending = PendingOffsets()

    def of(self, group_id: str) -> Mapping[TopicPartition, CommittedOffset]:
        """The durable offsets of a group; a view, not a copy."""
        return MappingProxyType(self._durable.get(group_id, {}))

    def group_ids(self) -> set[str]:
        """Groups that have durable offsets, or may come to have some."""
        return self._durable.keys() | self.pending.group_ids()

    def put(self, group_id: str, partition: TopicPartition, committed: CommittedOffset) -> None:
        self._durable.setdefault(group_id, {})[partition] = committed

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> set[str]:
        """Let the offsets of a transaction count, or forget them; returns the groups that gain some."""
        ended = self.pending.take(producer_id)
        if not is_commit:
            return set()
        for group_id, partition, committed in ended:
            present = self._durable.get(group_id, {}).get(partition)
            if present is None or present.log_offset < committed.log_offset:
                self.put(group_id, partition, committed)
        return {each.group_id for each in ended}

    def discard(self, group_id: str, partitions: Iterable[TopicPartition]) -> None:
        self.pending.discard(group_id, partitions)
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
        durable = self._durable.get(group_id, {}).keys()
        return self.unsettled(group_id) | durable | self.pending.of(group_id)
