"""ListOffsets, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class ListOffsetsPartition(Struct):
    partition_index: int = field("int32", default=0)
    current_leader_epoch: int = field("int32", default=-1, since=4)
    timestamp: int = field("int64", default=0)


class ListOffsetsTopic(Struct):
    name: str = field("string", default="")
    partitions: Sequence[ListOffsetsPartition] = field([ListOffsetsPartition], default=())


class ListOffsetsRequest(Message, api_key=2, versions=(1, 11), flexible_since=6):
    replica_id: int = field("int32", default=0)
    isolation_level: int = field("int8", default=0, since=2)
    topics: Sequence[ListOffsetsTopic] = field([ListOffsetsTopic], default=())
    timeout_ms: int = field("int32", default=0, since=10)


class ListOffsetsPartitionResponse(Struct):
    partition_index: int = field("int32", default=0)
    error_code: int = field("int16", default=0)
    timestamp: int = field("int64", default=-1)
    offset: int = field("int64", default=-1)
    leader_epoch: int = field("int32", default=-1, since=4)


class ListOffsetsTopicResponse(Struct):
    name: str = field("string", default="")
    partitions: Sequence[ListOffsetsPartitionResponse] = field(
        [ListOffsetsPartitionResponse], default=()
    )


class ListOffsetsResponse(Message, api_key=2, versions=(1, 11), flexible_since=6):
    throttle_time_ms: int = field("int32", default=0, since=2)
    topics: Sequence[ListOffsetsTopicResponse] = field([ListOffsetsTopicResponse], default=())
