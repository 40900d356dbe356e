"""ListGroups, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class ListGroupsRequest(Message, api_key=16, versions=(0, 5), flexible_since=3):
    states_filter: Sequence[str] = field(["string"], default=(), since=4)
    types_filter: Sequence[str] = field(["string"], default=(), since=5)


class ListedGroup(Struct):
    group_id: str = field("string", default="")
    protocol_type: str = field("string", default="")
    group_state: str = field("string", default="", since=4)
    group_type: str = field("string", default="", since=5)


class ListGroupsResponse(Message, api_key=16, versions=(0, 5), flexible_since=3):
    throttle_time_ms: int = field("int32", default=0, since=1)
    error_code: int = field("int16", default=0)
    groups: Sequence[ListedGroup] = field([ListedGroup], default=())
