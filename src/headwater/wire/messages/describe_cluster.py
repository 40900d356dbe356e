"""DescribeCluster, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class DescribeClusterRequest(Message, api_key=60, versions=(0, 2), flexible_since=0):
    include_cluster_authorized_operations: bool = field("bool", default=False)
    endpoint_type: int = field("int8", default=1, since=1)
    include_fenced_brokers: bool = field("bool", default=False, since=2)


class DescribeClusterBroker(Struct):
    broker_id: int = field("int32", default=0)
    host: str = field("string", default="")
    port: int = field("int32", default=0)
    rack: str | None = field("string", default=None, nullable=0)
    is_fenced: bool = field("bool", default=False, since=2)


class DescribeClusterResponse(Message, api_key=60, versions=(0, 2), flexible_since=0):
    throttle_time_ms: int = field("int32", default=0)
    error_code: int = field("int16", default=0)
    error_message: str | None = field("string", default=None, nullable=0)
    endpoint_type: int = field("int8", default=1, since=1)
    cluster_id: str = field("string", default="")
    controller_id: int = field("int32", default=-1)
    brokers: Sequence[DescribeClusterBroker] = field([DescribeClusterBroker], default=())
    cluster_authorized_operations: int = field("int32", default=-2147483648)
