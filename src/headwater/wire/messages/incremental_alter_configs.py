"""IncrementalAlterConfigs, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class AlterableConfig(Struct):
    name: str = field("string", default="")
    config_operation: int = field("int8", default=0)
    value: str | None = field("string", default=None, nullable=0)


class AlterConfigsResource(Struct):
    resource_type: int = field("int8", default=0)
    resource_name: str = field("string", default="")
    configs: Sequence[AlterableConfig] = field([AlterableConfig], default=())


class IncrementalAlterConfigsRequest(Message, api_key=44, versions=(0, 1), flexible_since=1):
    resources: Sequence[AlterConfigsResource] = field([AlterConfigsResource], default=())
    validate_only: bool = field("bool", default=False)


class AlterConfigsResourceResponse(Struct):
    error_code: int = field("int16", default=0)
    error_message: str | None = field("string", default=None, nullable=0)
    resource_type: int = field("int8", default=0)
    resource_name: str = field("string", default="")


class IncrementalAlterConfigsResponse(Message, api_key=44, versions=(0, 1), flexible_since=1):
    throttle_time_ms: int = field("int32", default=0)
    responses: Sequence[AlterConfigsResourceResponse] = field(
        [AlterConfigsResourceResponse], default=()
    )
