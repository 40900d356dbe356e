"""DescribeCluster: a cluster of one."""

from headwater.broker.context import RequestContext
from headwater.broker.operations import ALL_ON_CLUSTER, allowed
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

BROKERS = 1
CONTROLLERS = 2


def describe_cluster(
    request: DescribeClusterRequest, context: RequestContext
) -> DescribeClusterResponse:
    broker = context.broker
    if request.endpoint_type != BROKERS:
        is_known = request.endpoint_type == CONTROLLERS
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE
            if is_known
            else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message="This endpoint serves brokers.",
            endpoint_type=BROKERS,
        )
    node = broker.node
    return DescribeClusterResponse(
        cluster_id=broker.cluster_id,
        controller_id=node.node_id,
        brokers=[DescribeClusterBroker(broker_id=node.node_id, host=node.host, port=node.port)],
        cluster_authorized_operations=allowed(
            ALL_ON_CLUSTER, is_requested=request.include_cluster_authorized_operations
        ),
    )
