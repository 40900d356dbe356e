"""ElectLeaders, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class TopicPartitions(Struct):
    topic: str = field("string", default="")
    partitions: Sequence[int] = field(["int32"], default=())


class ElectLeadersRequest(Message, api_key=43, versions=(0, 2), flexible_since=2):
    election_type: int = field("int8", default=0, since=1)
    topic_partitions: Sequence[TopicPartitions] | None = field(
        [TopicPartitions], default=(), nullable=0
    )
    timeout_ms: int = field("int32", default=60000)


class PartitionResult(Struct):
    partition_id: int = field("int32", default=0)
    error_code: int = field("int16", default=0)
    error_message: str | None = field("string", default=None, nullable=0)


class ReplicaElectionResult(Struct):
    topic: str = field("string", default="")
    partition_result: Sequence[PartitionResult] = field([PartitionResult], default=())


class ElectLeadersResponse(Message, api_key=43, versions=(0, 2), flexible_since=2):
    throttle_time_ms: int = field("int32", default=0)
    error_code: int = field("int16", default=0, since=1)
    replica_election_results: Sequence[ReplicaElectionResult] = field(
        [ReplicaElectionResult], default=()
    )
