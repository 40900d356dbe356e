"""DescribeAcls, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class DescribeAclsRequest(Message, api_key=29, versions=(1, 3), flexible_since=2):
    resource_type_filter: int = field("int8", default=0)
    resource_name_filter: str | None = field("string", default=None, nullable=1)
    pattern_type_filter: int = field("int8", default=3)
    principal_filter: str | None = field("string", default=None, nullable=1)
    host_filter: str | None = field("string", default=None, nullable=1)
    operation: int = field("int8", default=0)
    permission_type: int = field("int8", default=0)


class AclDescription(Struct):
    principal: str = field("string", default="")
    host: str = field("string", default="")
    operation: int = field("int8", default=0)
    permission_type: int = field("int8", default=0)


class DescribeAclsResource(Struct):
    resource_type: int = field("int8", default=0)
    resource_name: str = field("string", default="")
    pattern_type: int = field("int8", default=3)
    acls: Sequence[AclDescription] = field([AclDescription], default=())


class DescribeAclsResponse(Message, api_key=29, versions=(1, 3), flexible_since=2):
    throttle_time_ms: int = field("int32", default=0)
    error_code: int = field("int16", default=0)
    error_message: str | None = field("string", default=None, nullable=1)
    resources: Sequence[DescribeAclsResource] = field([DescribeAclsResource], default=())
