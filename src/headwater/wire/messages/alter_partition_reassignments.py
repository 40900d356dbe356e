"""AlterPartitionReassignments, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class ReassignablePartition(Struct):
    partition_index: int = field("int32", default=0)
    replicas: Sequence[int] | None = field(["int32"], default=None, nullable=0)


class ReassignableTopic(Struct):
    name: str = field("string", default="")
    partitions: Sequence[ReassignablePartition] = field([ReassignablePartition], default=())


class AlterPartitionReassignmentsRequest(Message, api_key=45, versions=(0, 1), flexible_since=0):
    timeout_ms: int = field("int32", default=60000)
    allow_replication_factor_change: bool = field("bool", default=True, since=1)
    topics: Sequence[ReassignableTopic] = field([ReassignableTopic], default=())


class ReassignablePartitionResponse(Struct):
    partition_index: int = field("int32", default=0)
    error_code: int = field("int16", default=0)
    error_message: str | None = field("string", default=None, nullable=0)


class ReassignableTopicResponse(Struct):
    name: str = field("string", default="")
    partitions: Sequence[ReassignablePartitionResponse] = field(
        [ReassignablePartitionResponse], default=()
    )


class AlterPartitionReassignmentsResponse(Message, api_key=45, versions=(0, 1), flexible_since=0):
    throttle_time_ms: int = field("int32", default=0)
    allow_replication_factor_change: bool = field("bool", default=True, since=1)
    error_code: int = field("int16", default=0)
    error_message: str | None = field("string", default=None, nullable=0)
    responses: Sequence[ReassignableTopicResponse] = field([ReassignableTopicResponse], default=())
