"""JoinGroup, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class JoinGroupRequestProtocol(Struct):
    name: str = field("string", default="")
    metadata: bytes = field("bytes", default=b"")


class JoinGroupRequest(Message, api_key=11, versions=(0, 9), flexible_since=6):
    group_id: str = field("string", default="")
    session_timeout_ms: int = field("int32", default=0)
    rebalance_timeout_ms: int = field("int32", default=-1, since=1)
    member_id: str = field("string", default="")
    group_instance_id: str | None = field("string", default=None, since=5, nullable=5)
    protocol_type: str = field("string", default="")
    protocols: Sequence[JoinGroupRequestProtocol] = field([JoinGroupRequestProtocol], default=())
    reason: str | None = field("string", default=None, since=8, nullable=8)


class JoinGroupResponseMember(Struct):
    member_id: str = field("string", default="")
    group_instance_id: str | None = field("string", default=None, since=5, nullable=5)
    metadata: bytes = field("bytes", default=b"")


class JoinGroupResponse(Message, api_key=11, versions=(0, 9), flexible_since=6):
    throttle_time_ms: int = field("int32", default=0, since=2)
    error_code: int = field("int16", default=0)
    generation_id: int = field("int32", default=-1)
    protocol_type: str | None = field("string", default=None, since=7, nullable=7)
    protocol_name: str | None = field("string", default="", nullable=7)
    leader: str = field("string", default="")
    skip_assignment: bool = field("bool", default=False, since=9)
    member_id: str = field("string", default="")
    members: Sequence[JoinGroupResponseMember] = field([JoinGroupResponseMember], default=())
