"""LeaveGroup: members go; since version 3 several at once."""

from headwater.broker.context import RequestContext
from headwater.wire.messages.leave_group import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)


async def leave_group(request: LeaveGroupRequest, context: RequestContext) -> LeaveGroupResponse:
    leavers = request.members
    if context.version < 3:
        leavers = [MemberIdentity(member_id=request.member_id)]
    error, members = await context.broker.groups.leave(request.group_id, leavers)
    if context.version < 3 and not error:
        return LeaveGroupResponse(error_code=members[0].error_code)
    return LeaveGroupResponse(error_code=error, members=members)
