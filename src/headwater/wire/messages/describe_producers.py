"""DescribeProducers, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class TopicRequest(Struct):
    name: str = field("string", default="")
    partition_indexes: Sequence[int] = field(["int32"], default=())


class DescribeProducersRequest(Message, api_key=61, versions=(0, 0), flexible_since=0):
    topics: Sequence[TopicRequest] = field([TopicRequest], default=())


class ProducerState(Struct):
    producer_id: int = field("int64", default=0)
    producer_epoch: int = field("int32", default=0)
    last_sequence: int = field("int32", default=-1)
    last_timestamp: int = field("int64", default=-1)
    coordinator_epoch: int = field("int32", default=0)
    current_txn_start_offset: int = field("int64", default=-1)


class PartitionResponse(Struct):
    partition_index: int = field("int32", default=0)
    error_code: int = field("int16", default=0)
    error_message: str | None = field("string", default=None, nullable=0)
    active_producers: Sequence[ProducerState] = field([ProducerState], default=())


class TopicResponse(Struct):
    name: str = field("string", default="")
    partitions: Sequence[PartitionResponse] = field([PartitionResponse], default=())


class DescribeProducersResponse(Message, api_key=61, versions=(0, 0), flexible_since=0):
    throttle_time_ms: int = field("int32", default=0)
    topics: Sequence[TopicResponse] = field([TopicResponse], default=())
