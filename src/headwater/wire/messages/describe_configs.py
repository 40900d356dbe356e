"""DescribeConfigs, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class DescribeConfigsResource(Struct):
    resource_type: int = field("int8", default=0)
    resource_name: str = field("string", default="")
    configuration_keys: Sequence[str] | None = field(["string"], default=(), nullable=1)


class DescribeConfigsRequest(Message, api_key=32, versions=(1, 4), flexible_since=4):
    resources: Sequence[DescribeConfigsResource] = field([DescribeConfigsResource], default=())
    include_synonyms: bool = field("bool", default=False)
    include_documentation: bool = field("bool", default=False, since=3)


class DescribeConfigsSynonym(Struct):
    name: str = field("string", default="")
    value: str | None = field("string", default=None, nullable=1)
    source: int = field("int8", default=0)


class DescribeConfigsResourceResult(Struct):
    name: str = field("string", default="")
    value: str | None = field("string", default=None, nullable=1)
    read_only: bool = field("bool", default=False)
    config_source: int = field("int8", default=-1)
    is_sensitive: bool = field("bool", default=False)
    synonyms: Sequence[DescribeConfigsSynonym] = field([DescribeConfigsSynonym], default=())
    config_type: int = field("int8", default=0, since=3)
    documentation: str | None = field("string", default=None, since=3, nullable=3)


class DescribeConfigsResult(Struct):
    error_code: int = field("int16", default=0)
    error_message: str | None = field("string", default=None, nullable=1)
    resource_type: int = field("int8", default=0)
    resource_name: str = field("string", default="")
    configs: Sequence[DescribeConfigsResourceResult] = field(
        [DescribeConfigsResourceResult], default=()
    )


class DescribeConfigsResponse(Message, api_key=32, versions=(1, 4), flexible_since=4):
    throttle_time_ms: int = field("int32", default=0)
    results: Sequence[DescribeConfigsResult] = field([DescribeConfigsResult], default=())
