"""ApiVersions, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class ApiVersionsRequest(Message, api_key=18, versions=(0, 4), flexible_since=3):
    client_software_name: str = field("string", default="", since=3)
    client_software_version: str = field("string", default="", since=3)


class ApiVersion(Struct):
    api_key: int = field("int16", default=0)
    min_version: int = field("int16", default=0)
    max_version: int = field("int16", default=0)


class SupportedFeatureKey(Struct):
    name: str = field("string", default="", since=3)
    min_version: int = field("int16", default=0, since=3)
    max_version: int = field("int16", default=0, since=3)


class FinalizedFeatureKey(Struct):
    name: str = field("string", default="", since=3)
    max_version_level: int = field("int16", default=0, since=3)
    min_version_level: int = field("int16", default=0, since=3)


class ApiVersionsResponse(Message, api_key=18, versions=(0, 4), flexible_since=3):
    error_code: int = field("int16", default=0)
    api_keys: Sequence[ApiVersion] = field([ApiVersion], default=())
    throttle_time_ms: int = field("int32", default=0, since=1)
    supported_features: Sequence[SupportedFeatureKey] = field(
        [SupportedFeatureKey], default=(), since=3, tag=0
    )
    finalized_features_epoch: int = field("int64", default=-1, since=3, tag=1)
    finalized_features: Sequence[FinalizedFeatureKey] = field(
        [FinalizedFeatureKey], default=(), since=3, tag=2
    )
    zk_migration_ready: bool = field("bool", default=False, since=3, tag=3)
