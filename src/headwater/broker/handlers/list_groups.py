"""ListGroups: the groups there are, by state and type if asked."""

from collections.abc import Sequence

from headwater.broker.context import RequestContext
from headwater.wire.messages.list_groups import (
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)

CLASSIC = "classic"


def list_groups(request: ListGroupsRequest, context: RequestContext) -> ListGroupsResponse:
    if not _is_among(CLASSIC, request.types_filter):
        return ListGroupsResponse()
    return ListGroupsResponse(
        groups=[
            ListedGroup(
                group_id=group.id,
                protocol_type=group.protocol_type or "",
                group_state=group.state.value,
                group_type=CLASSIC,
            )
            for group in context.broker.groups
            if _is_among(group.state.value, request.states_filter)
        ]
    )


def _is_among(name: str, names: Sequence[str]) -> bool:
    """Whether a filter lets a name through; an empty one lets everything through."""
    return not names or name.lower() in (each.lower() for each in names)
