"""DescribeTopicPartitions, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import ZERO_UUID, Message, Struct, field


class TopicRequest(Struct):
    name: str = field("string", default="")


class Cursor(Struct):
    topic_name: str = field("string", default="")
    partition_index: int = field("int32", default=0)


class DescribeTopicPartitionsRequest(Message, api_key=75, versions=(0, 0), flexible_since=0):
    topics: Sequence[TopicRequest] = field([TopicRequest], default=())
    response_partition_limit: int = field("int32", default=2000)
    cursor: Cursor | None = field(Cursor, default=None, nullable=0)


class DescribeTopicPartitionsResponsePartition(Struct):
    error_code: int = field("int16", default=0)
    partition_index: int = field("int32", default=0)
    leader_id: int = field("int32", default=0)
    leader_epoch: int = field("int32", default=-1)
    replica_nodes: Sequence[int] = field(["int32"], default=())
    isr_nodes: Sequence[int] = field(["int32"], default=())
    eligible_leader_replicas: Sequence[int] | None = field(["int32"], default=None, nullable=0)
    last_known_elr: Sequence[int] | None = field(["int32"], default=None, nullable=0)
    offline_replicas: Sequence[int] = field(["int32"], default=())


class DescribeTopicPartitionsResponseTopic(Struct):
    error_code: int = field("int16", default=0)
    name: str | None = field("string", default=None, nullable=0)
    topic_id: bytes = field("uuid", default=ZERO_UUID)
    is_internal: bool = field("bool", default=False)
    partitions: Sequence[DescribeTopicPartitionsResponsePartition] = field(
        [DescribeTopicPartitionsResponsePartition], default=()
    )
    topic_authorized_operations: int = field("int32", default=-2147483648)


class DescribeTopicPartitionsResponseCursor(Struct):
    topic_name: str = field("string", default="")
    partition_index: int = field("int32", default=0)


class DescribeTopicPartitionsResponse(Message, api_key=75, versions=(0, 0), flexible_since=0):
    throttle_time_ms: int = field("int32", default=0)
    topics: Sequence[DescribeTopicPartitionsResponseTopic] = field(
        [DescribeTopicPartitionsResponseTopic], default=()
    )
    next_cursor: DescribeTopicPartitionsResponseCursor | None = field(
        DescribeTopicPartitionsResponseCursor, default=None, nullable=0
    )
