"""What is deleted from the journal: an offset, or a group."""

from typing import NamedTuple, Self

from headwater.broker.groups.records import Record, TopicPartition, encode_group, encode_offset


class Removal(NamedTuple):
    """The record that deletes it; no partition: the group itself."""

    record: Record
    group_id: str
    partition: TopicPartition | None = None

    @classmethod
    def of_offset(cls, group_id: str, partition: TopicPartition) -> Self:
        return cls(encode_offset(group_id, partition, None), group_id, partition)

    @classmethod
    def of_group(cls, group_id: str) -> Self:
        return cls(encode_group(group_id, None), group_id)
