"""Heartbeat, by tools/generate_messages.py."""

from headwater.wire.schema import Message, field


class HeartbeatRequest(Message, api_key=12, versions=(0, 4), flexible_since=4):
    group_id: str = field("string", default="")
    generation_id: int = field("int32", default=0)
    member_id: str = field("string", default="")
    group_instance_id: str | None = field("string", default=None, since=3, nullable=3)


class HeartbeatResponse(Message, api_key=12, versions=(0, 4), flexible_since=4):
    throttle_time_ms: int = field("int32", default=0, since=1)
    error_code: int = field("int16", default=0)
