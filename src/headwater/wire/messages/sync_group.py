"""SyncGroup, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class SyncGroupRequestAssignment(Struct):
    member_id: str = field("string", default="")
    assignment: bytes = field("bytes", default=b"")


class SyncGroupRequest(Message, api_key=14, versions=(0, 5), flexible_since=4):
    group_id: str = field("string", default="")
    generation_id: int = field("int32", default=0)
    member_id: str = field("string", default="")
    group_instance_id: str | None = field("string", default=None, since=3, nullable=3)
    protocol_type: str | None = field("string", default=None, since=5, nullable=5)
    protocol_name: str | None = field("string", default=None, since=5, nullable=5)
    assignments: Sequence[SyncGroupRequestAssignment] = field(
        [SyncGroupRequestAssignment], default=()
    )


class SyncGroupResponse(Message, api_key=14, versions=(0, 5), flexible_since=4):
    throttle_time_ms: int = field("int32", default=0, since=1)
    error_code: int = field("int16", default=0)
    protocol_type: str | None = field("string", default=None, since=5, nullable=5)
    protocol_name: str | None = field("string", default=None, since=5, nullable=5)
    assignment: bytes = field("bytes", default=b"")
