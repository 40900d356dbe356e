"""SyncGroup: hand in everyone's assignment (the leader), get one's own (all)."""

from headwater.broker.context import RequestContext
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse


async def sync_group(request: SyncGroupRequest, context: RequestContext) -> SyncGroupResponse:
    names_protocol = request.protocol_type is not None and request.protocol_name is not None
    if context.version >= 5 and not names_protocol:
        return SyncGroupResponse(error_code=ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    response: SyncGroupResponse = await context.broker.groups.sync(request)
    return response
