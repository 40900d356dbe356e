"""DeleteGroups: forget empty groups and their offsets."""

from headwater.broker.context import RequestContext
from headwater.wire.messages.delete_groups import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
)


async def delete_groups(
    request: DeleteGroupsRequest, context: RequestContext
) -> DeleteGroupsResponse:
    offsets = context.broker.groups.offsets
    return DeleteGroupsResponse(
        results=[
            DeletableGroupResult(group_id=each, error_code=await offsets.delete_group(each))
            for each in request.groups_names
        ]
    )
