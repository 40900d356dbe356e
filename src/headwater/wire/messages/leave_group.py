"""LeaveGroup, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class MemberIdentity(Struct):
    member_id: str = field("string", default="", since=3)
    group_instance_id: str | None = field("string", default=None, since=3, nullable=3)
    reason: str | None = field("string", default=None, since=5, nullable=5)


class LeaveGroupRequest(Message, api_key=13, versions=(0, 5), flexible_since=4):
    group_id: str = field("string", default="")
    member_id: str = field("string", default="", until=2)
    members: Sequence[MemberIdentity] = field([MemberIdentity], default=(), since=3)


class MemberResponse(Struct):
    member_id: str = field("string", default="", since=3)
    group_instance_id: str | None = field("string", default=None, since=3, nullable=3)
    error_code: int = field("int16", default=0, since=3)


class LeaveGroupResponse(Message, api_key=13, versions=(0, 5), flexible_since=4):
    throttle_time_ms: int = field("int32", default=0, since=1)
    error_code: int = field("int16", default=0)
    members: Sequence[MemberResponse] = field([MemberResponse], default=(), since=3)
