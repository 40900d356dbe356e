"""Fetch, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.encoder import Part
from headwater.wire.schema import ZERO_UUID, Message, Struct, field


class ReplicaState(Struct):
    replica_id: int = field("int32", default=-1, since=15)
    replica_epoch: int = field("int64", default=-1, since=15)


class FetchPartition(Struct):
    partition: int = field("int32", default=0)
    current_leader_epoch: int = field("int32", default=-1, since=9)
    fetch_offset: int = field("int64", default=0)
    last_fetched_epoch: int = field("int32", default=-1, since=12)
    log_start_offset: int = field("int64", default=-1, since=5)
    partition_max_bytes: int = field("int32", default=0)
    replica_directory_id: bytes = field("uuid", default=ZERO_UUID, since=17, tag=0)
    high_watermark: int = field("int64", default=9223372036854775807, since=18, tag=1)


class FetchTopic(Struct):
    topic: str = field("string", default="", until=12)
    topic_id: bytes = field("uuid", default=ZERO_UUID, since=13)
    partitions: Sequence[FetchPartition] = field([FetchPartition], default=())


class ForgottenTopic(Struct):
    topic: str = field("string", default="", since=7, until=12)
    topic_id: bytes = field("uuid", default=ZERO_UUID, since=13)
    partitions: Sequence[int] = field(["int32"], default=(), since=7)


class FetchRequest(Message, api_key=1, versions=(4, 18), flexible_since=12):
    cluster_id: str | None = field("string", default=None, since=12, nullable=12, tag=0)
    replica_id: int = field("int32", default=-1, until=14)
    replica_state: ReplicaState | None = field(ReplicaState, default=None, since=15, tag=1)
    max_wait_ms: int = field("int32", default=0)
    min_bytes: int = field("int32", default=0)
    max_bytes: int = field("int32", default=2147483647)
    isolation_level: int = field("int8", default=0)
    session_id: int = field("int32", default=0, since=7)
    session_epoch: int = field("int32", default=-1, since=7)
    topics: Sequence[FetchTopic] = field([FetchTopic], default=())
    forgotten_topics_data: Sequence[ForgottenTopic] = field([ForgottenTopic], default=(), since=7)
    rack_id: str = field("string", default="", since=11)


class EpochEndOffset(Struct):
    epoch: int = field("int32", default=-1, since=12)
    end_offset: int = field("int64", default=-1, since=12)


class LeaderIdAndEpoch(Struct):
    leader_id: int = field("int32", default=-1, since=12)
    leader_epoch: int = field("int32", default=-1, since=12)


class SnapshotId(Struct):
    end_offset: int = field("int64", default=-1, since=12)
    epoch: int = field("int32", default=-1, since=12)


class AbortedTransaction(Struct):
    producer_id: int = field("int64", default=0)
    first_offset: int = field("int64", default=0)


class PartitionData(Struct):
    partition_index: int = field("int32", default=0)
    error_code: int = field("int16", default=0)
    high_watermark: int = field("int64", default=0)
    last_stable_offset: int = field("int64", default=-1)
    log_start_offset: int = field("int64", default=-1, since=5)
    diverging_epoch: EpochEndOffset | None = field(EpochEndOffset, default=None, since=12, tag=0)
    current_leader: LeaderIdAndEpoch | None = field(LeaderIdAndEpoch, default=None, since=12, tag=1)
    snapshot_id: SnapshotId | None = field(SnapshotId, default=None, since=12, tag=2)
    aborted_transactions: Sequence[AbortedTransaction] | None = field(
        [AbortedTransaction], default=(), nullable=4
    )
    preferred_read_replica: int = field("int32", default=-1, since=11)
    records: Part | None = field("records", default=b"", nullable=4)


class FetchableTopicResponse(Struct):
    topic: str = field("string", default="", until=12)
    topic_id: bytes = field("uuid", default=ZERO_UUID, since=13)
    partitions: Sequence[PartitionData] = field([PartitionData], default=())


class NodeEndpoint(Struct):
    node_id: int = field("int32", default=0, since=16)
    host: str = field("string", default="", since=16)
    port: int = field("int32", default=0, since=16)
    rack: str | None = field("string", default=None, since=16, nullable=16)


class FetchResponse(Message, api_key=1, versions=(4, 18), flexible_since=12):
    throttle_time_ms: int = field("int32", default=0)
    error_code: int = field("int16", default=0, since=7)
    session_id: int = field("int32", default=0, since=7)
    responses: Sequence[FetchableTopicResponse] = field([FetchableTopicResponse], default=())
    node_endpoints: Sequence[NodeEndpoint] = field([NodeEndpoint], default=(), since=16, tag=0)
