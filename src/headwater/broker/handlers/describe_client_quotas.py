"""DescribeClientQuotas: there are none. The list is empty, not null: Java does not survive null."""

from headwater.broker.context import RequestContext
from headwater.wire.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)


def describe_client_quotas(
    _: DescribeClientQuotasRequest, __: RequestContext
) -> DescribeClientQuotasResponse:
    return DescribeClientQuotasResponse(entries=[])
