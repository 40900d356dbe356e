"""DescribeGroups, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class DescribeGroupsRequest(Message, api_key=15, versions=(0, 6), flexible_since=5):
    groups: Sequence[str] = field(["string"], default=())
    include_authorized_operations: bool = field("bool", default=False, since=3)


class DescribedGroupMember(Struct):
    member_id: str = field("string", default="")
    group_instance_id: str | None = field("string", default=None, since=4, nullable=4)
    client_id: str = field("string", default="")
    client_host: str = field("string", default="")
    member_metadata: bytes = field("bytes", default=b"")
    member_assignment: bytes = field("bytes", default=b"")


class DescribedGroup(Struct):
    error_code: int = field("int16", default=0)
    error_message: str | None = field("string", default=None, since=6, nullable=6)
    group_id: str = field("string", default="")
    group_state: str = field("string", default="")
    protocol_type: str = field("string", default="")
    protocol_data: str = field("string", default="")
    members: Sequence[DescribedGroupMember] = field([DescribedGroupMember], default=())
    authorized_operations: int = field("int32", default=-2147483648, since=3)


class DescribeGroupsResponse(Message, api_key=15, versions=(0, 6), flexible_since=5):
    throttle_time_ms: int = field("int32", default=0, since=1)
    groups: Sequence[DescribedGroup] = field([DescribedGroup], default=())
