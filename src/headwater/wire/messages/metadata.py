"""Metadata, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import ZERO_UUID, Message, Struct, field


class MetadataRequestTopic(Struct):
    topic_id: bytes = field("uuid", default=ZERO_UUID, since=10)
    name: str | None = field("string", default="", nullable=10)


class MetadataRequest(Message, api_key=3, versions=(0, 13), flexible_since=9):
    topics: Sequence[MetadataRequestTopic] | None = field(
        [MetadataRequestTopic], default=(), nullable=1
    )
    allow_auto_topic_creation: bool = field("bool", default=True, since=4)
    include_cluster_authorized_operations: bool = field("bool", default=False, since=8, until=10)
    include_topic_authorized_operations: bool = field("bool", default=False, since=8)


class MetadataResponseBroker(Struct):
    node_id: int = field("int32", default=0)
    host: str = field("string", default="")
    port: int = field("int32", default=0)
    rack: str | None = field("string", default=None, since=1, nullable=1)


class MetadataResponsePartition(Struct):
    error_code: int = field("int16", default=0)
    partition_index: int = field("int32", default=0)
    leader_id: int = field("int32", default=0)
    leader_epoch: int = field("int32", default=-1, since=7)
    replica_nodes: Sequence[int] = field(["int32"], default=())
    isr_nodes: Sequence[int] = field(["int32"], default=())
    offline_replicas: Sequence[int] = field(["int32"], default=(), since=5)


class MetadataResponseTopic(Struct):
    error_code: int = field("int16", default=0)
    name: str | None = field("string", default="", nullable=12)
    topic_id: bytes = field("uuid", default=ZERO_UUID, since=10)
    is_internal: bool = field("bool", default=False, since=1)
    partitions: Sequence[MetadataResponsePartition] = field([MetadataResponsePartition], default=())
    topic_authorized_operations: int = field("int32", default=-2147483648, since=8)


class MetadataResponse(Message, api_key=3, versions=(0, 13), flexible_since=9):
    throttle_time_ms: int = field("int32", default=0, since=3)
    brokers: Sequence[MetadataResponseBroker] = field([MetadataResponseBroker], default=())
    cluster_id: str | None = field("string", default=None, since=2, nullable=2)
    controller_id: int = field("int32", default=-1, since=1)
    topics: Sequence[MetadataResponseTopic] = field([MetadataResponseTopic], default=())
    cluster_authorized_operations: int = field("int32", default=-2147483648, since=8, until=10)
    error_code: int = field("int16", default=0, since=13)
