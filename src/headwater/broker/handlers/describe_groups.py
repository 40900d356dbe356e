"""DescribeGroups: state, protocol and members of groups."""

from headwater.broker.context import RequestContext
from headwater.broker.groups.group import Group, GroupState
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)

NOT_REQUESTED = -(2**31)
ALL_OPERATIONS = 1 << 3 | 1 << 6 | 1 << 8 | 1 << 10 | 1 << 11
"""READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS: what a group allows without ACLs."""


def describe_groups(
    request: DescribeGroupsRequest, context: RequestContext
) -> DescribeGroupsResponse:
    operations = ALL_OPERATIONS if request.include_authorized_operations else NOT_REQUESTED
    return DescribeGroupsResponse(
        groups=[_describe(group_id, operations, context) for group_id in request.groups]
    )


def _describe(group_id: str, operations: int, context: RequestContext) -> DescribedGroup:
    group: Group | None = context.broker.groups.find(group_id)
    if group is None:
        return _describe_unknown(group_id, operations, context.version)
    protocol_name = group.protocol_name if group.state is GroupState.STABLE else None
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state.value,
        protocol_type=group.protocol_type or "",
        protocol_data=protocol_name or "",
        members=[
            DescribedGroupMember(
                member_id=member.id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata_for(protocol_name),
                member_assignment=member.assignment,
            )
            for member in group.roster
        ],
        authorized_operations=operations,
    )


def _describe_unknown(group_id: str, operations: int, version: int) -> DescribedGroup:
    """Until version 6 a group that does not exist was dead without an error (KIP-1043)."""
    described = DescribedGroup(group_id=group_id, group_state=GroupState.DEAD.value)
    if version >= 6:
        described.error_code = ErrorCode.GROUP_ID_NOT_FOUND
        described.error_message = f"Group {group_id} not found."
    else:
        described.authorized_operations = operations
    return described
