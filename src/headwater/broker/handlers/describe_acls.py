"""DescribeAcls: security is off, and tools are told so instead of being hung up on."""

from headwater.broker.context import RequestContext
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse


def describe_acls(_: DescribeAclsRequest, __: RequestContext) -> DescribeAclsResponse:
    return DescribeAclsResponse(
        error_code=ErrorCode.SECURITY_DISABLED,
        error_message="No Authorizer is configured on the broker.",
    )
