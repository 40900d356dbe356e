"""ListConfigResources, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class ListConfigResourcesRequest(Message, api_key=74, versions=(0, 1), flexible_since=0):
    resource_types: Sequence[int] = field(["int8"], default=(), since=1)


class ConfigResource(Struct):
    resource_name: str = field("string", default="")
    resource_type: int = field("int8", default=16, since=1)


class ListConfigResourcesResponse(Message, api_key=74, versions=(0, 1), flexible_since=0):
    throttle_time_ms: int = field("int32", default=0)
    error_code: int = field("int16", default=0)
    config_resources: Sequence[ConfigResource] = field([ConfigResource], default=())
