"""AlterConfigs, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class AlterableConfig(Struct):
    name: str = field("string", default="")
    value: str | None = field("string", default=None, nullable=0)


class AlterConfigsResource(Struct):
    resource_type: int = field("int8", default=0)
    resource_name: str = field("string", default="")
    configs: Sequence[AlterableConfig] = field([AlterableConfig], default=())


class AlterConfigsRequest(Message, api_key=33, versions=(0, 2), flexible_since=2):
    resources: Sequence[AlterConfigsResource] = field([AlterConfigsResource], default=())
    validate_only: bool = field("bool", default=False)


class AlterConfigsResourceResponse(Struct):
    error_code: int = field("int16", default=0)
    error_message: str | None = field("string", default=None, nullable=0)
    resource_type: int = field("int8", default=0)
    resource_name: str = field("string", default="")


class AlterConfigsResponse(Message, api_key=33, versions=(0, 2), flexible_since=2):
    throttle_time_ms: int = field("int32", default=0)
    responses: Sequence[AlterConfigsResourceResponse] = field(
        [AlterConfigsResourceResponse], default=()
    )
