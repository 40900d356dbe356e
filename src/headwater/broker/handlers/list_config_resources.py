"""ListConfigResources: what DescribeConfigs can be asked about."""

from headwater.broker.config_view import BROKER_RESOURCE, TOPIC_RESOURCE
from headwater.broker.context import RequestContext
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

BROKER_LOGGER = 8
CLIENT_METRICS = 16
GROUP = 32
SUPPORTED = frozenset({TOPIC_RESOURCE, BROKER_RESOURCE, BROKER_LOGGER, CLIENT_METRICS, GROUP})


def list_config_resources(
    request: ListConfigResourcesRequest, context: RequestContext
) -> ListConfigResourcesResponse:
    if context.version == 0:
        return ListConfigResourcesResponse(config_resources=[])
    wanted = set(request.resource_types) or SUPPORTED
    if not wanted <= SUPPORTED:
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    broker = context.broker
    found = []
    if TOPIC_RESOURCE in wanted:
        found += [(each.name, TOPIC_RESOURCE) for each in broker.topics]
    for kind in (BROKER_RESOURCE, BROKER_LOGGER):
        if kind in wanted:
            found.append((str(broker.node.node_id), kind))
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind) for name, kind in found
        ]
    )
