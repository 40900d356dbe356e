"""DeleteGroups, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class DeleteGroupsRequest(Message, api_key=42, versions=(0, 2), flexible_since=2):
    groups_names: Sequence[str] = field(["string"], default=())


class DeletableGroupResult(Struct):
    group_id: str = field("string", default="")
    error_code: int = field("int16", default=0)


class DeleteGroupsResponse(Message, api_key=42, versions=(0, 2), flexible_since=2):
    throttle_time_ms: int = field("int32", default=0)
    results: Sequence[DeletableGroupResult] = field([DeletableGroupResult], default=())
