"""DescribeQuorum, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import ZERO_UUID, Message, Struct, field


class PartitionData(Struct):
    partition_index: int = field("int32", default=0)


class TopicData(Struct):
    topic_name: str = field("string", default="")
    partitions: Sequence[PartitionData] = field([PartitionData], default=())


class DescribeQuorumRequest(Message, api_key=55, versions=(0, 2), flexible_since=0):
    topics: Sequence[TopicData] = field([TopicData], default=())


class ReplicaState(Struct):
    replica_id: int = field("int32", default=0)
    replica_directory_id: bytes = field("uuid", default=ZERO_UUID, since=2)
    log_end_offset: int = field("int64", default=0)
    last_fetch_timestamp: int = field("int64", default=-1, since=1)
    last_caught_up_timestamp: int = field("int64", default=-1, since=1)


class DescribeQuorumResponsePartitionData(Struct):
    partition_index: int = field("int32", default=0)
    error_code: int = field("int16", default=0)
    error_message: str | None = field("string", default=None, since=2, nullable=2)
    leader_id: int = field("int32", default=0)
    leader_epoch: int = field("int32", default=0)
    high_watermark: int = field("int64", default=0)
    current_voters: Sequence[ReplicaState] = field([ReplicaState], default=())
    observers: Sequence[ReplicaState] = field([ReplicaState], default=())


class DescribeQuorumResponseTopicData(Struct):
    topic_name: str = field("string", default="")
    partitions: Sequence[DescribeQuorumResponsePartitionData] = field(
        [DescribeQuorumResponsePartitionData], default=()
    )


class Listener(Struct):
    name: str = field("string", default="", since=2)
    host: str = field("string", default="", since=2)
    port: int = field("uint16", default=0, since=2)


class Node(Struct):
    node_id: int = field("int32", default=0, since=2)
    listeners: Sequence[Listener] = field([Listener], default=(), since=2)


class DescribeQuorumResponse(Message, api_key=55, versions=(0, 2), flexible_since=0):
    error_code: int = field("int16", default=0)
    error_message: str | None = field("string", default=None, since=2, nullable=2)
    topics: Sequence[DescribeQuorumResponseTopicData] = field(
        [DescribeQuorumResponseTopicData], default=()
    )
    nodes: Sequence[Node] = field([Node], default=(), since=2)
