"""FindCoordinator, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class FindCoordinatorRequest(Message, api_key=10, versions=(0, 6), flexible_since=3):
    key: str = field("string", default="", until=3)
    key_type: int = field("int8", default=0, since=1)
    coordinator_keys: Sequence[str] = field(["string"], default=(), since=4)


class Coordinator(Struct):
    key: str = field("string", default="", since=4)
    node_id: int = field("int32", default=0, since=4)
    host: str = field("string", default="", since=4)
    port: int = field("int32", default=0, since=4)
    error_code: int = field("int16", default=0, since=4)
    error_message: str | None = field("string", default=None, since=4, nullable=4)


class FindCoordinatorResponse(Message, api_key=10, versions=(0, 6), flexible_since=3):
    throttle_time_ms: int = field("int32", default=0, since=1)
    error_code: int = field("int16", default=0, until=3)
    error_message: str | None = field("string", default=None, since=1, until=3, nullable=1)
    node_id: int = field("int32", default=0, until=3)
    host: str = field("string", default="", until=3)
    port: int = field("int32", default=0, until=3)
    coordinators: Sequence[Coordinator] = field([Coordinator], default=(), since=4)
