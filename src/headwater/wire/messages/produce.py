"""Produce, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.encoder import Part
from headwater.wire.schema import ZERO_UUID, Message, Struct, field


class PartitionProduceData(Struct):
    index: int = field("int32", default=0)
    records: Part | None = field("records", default=b"", nullable=3)


class TopicProduceData(Struct):
    name: str = field("string", default="", until=12)
    topic_id: bytes = field("uuid", default=ZERO_UUID, since=13)
    partition_data: Sequence[PartitionProduceData] = field([PartitionProduceData], default=())


class ProduceRequest(Message, api_key=0, versions=(3, 13), flexible_since=9):
    transactional_id: str | None = field("string", default=None, nullable=3)
    acks: int = field("int16", default=0)
    timeout_ms: int = field("int32", default=0)
    topic_data: Sequence[TopicProduceData] = field([TopicProduceData], default=())


class BatchIndexAndErrorMessage(Struct):
    batch_index: int = field("int32", default=0, since=8)
    batch_index_error_message: str | None = field("string", default=None, since=8, nullable=8)


class LeaderIdAndEpoch(Struct):
    leader_id: int = field("int32", default=-1, since=10)
    leader_epoch: int = field("int32", default=-1, since=10)


class PartitionProduceResponse(Struct):
    index: int = field("int32", default=0)
    error_code: int = field("int16", default=0)
    base_offset: int = field("int64", default=0)
    log_append_time_ms: int | None = field("int64", default=-1)
    log_start_offset: int = field("int64", default=-1, since=5)
    record_errors: Sequence[BatchIndexAndErrorMessage] = field(
        [BatchIndexAndErrorMessage], default=(), since=8
    )
    error_message: str | None = field("string", default=None, since=8, nullable=8)
    current_leader: LeaderIdAndEpoch | None = field(LeaderIdAndEpoch, default=None, since=10, tag=0)


class TopicProduceResponse(Struct):
    name: str = field("string", default="", until=12)
    topic_id: bytes = field("uuid", default=ZERO_UUID, since=13)
    partition_responses: Sequence[PartitionProduceResponse] = field(
        [PartitionProduceResponse], default=()
    )


class NodeEndpoint(Struct):
    node_id: int = field("int32", default=0, since=10)
    host: str = field("string", default="", since=10)
    port: int = field("int32", default=0, since=10)
    rack: str | None = field("string", default=None, since=10, nullable=10)


class ProduceResponse(Message, api_key=0, versions=(3, 13), flexible_since=9):
    responses: Sequence[TopicProduceResponse] = field([TopicProduceResponse], default=())
    throttle_time_ms: int = field("int32", default=0)
    node_endpoints: Sequence[NodeEndpoint] = field([NodeEndpoint], default=(), since=10, tag=0)
