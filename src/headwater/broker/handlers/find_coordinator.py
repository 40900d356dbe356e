"""FindCoordinator: there is one node, so it coordinates every group and every transaction."""

from headwater.broker.context import RequestContext
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

GROUP = 0
TRANSACTION = 1


def find_coordinator(
    request: FindCoordinatorRequest, context: RequestContext
) -> FindCoordinatorResponse:
    if context.version >= 4:
        return FindCoordinatorResponse(
            coordinators=[_find(key, request.key_type, context) for key in request.coordinator_keys]
        )
    found = _find(request.key, request.key_type, context)
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message or "NONE",
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )


def _find(key: str, key_type: int, context: RequestContext) -> Coordinator:
    if key_type not in (GROUP, TRANSACTION):
        return Coordinator(
            key=key,
            node_id=-1,
            port=-1,
            error_code=ErrorCode.INVALID_REQUEST,
            error_message=f"there is no coordinator of type {key_type}",
        )
    node = context.broker.node
    return Coordinator(
        key=key, node_id=node.node_id, host=node.host, port=node.port, error_message=""
    )
