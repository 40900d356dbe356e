"""DeleteGroups: forget empty groups and their offsets."""

import asyncio

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
    codes = await asyncio.gather(*(offsets.delete_group(each) for each in request.groups_names))
    return DeleteGroupsResponse(
        results=[
            DeletableGroupResult(group_id=each, error_code=code)
            for each, code in zip(request.groups_names, codes, strict=True)
        ]
    )
