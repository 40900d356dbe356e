"""A group as it is stored, and back: what a generation needs to go on after a restart.

Waiting requests, pending members and sessions are not stored; their clients come again.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from headwater.broker.groups.member import Member
from headwater.broker.groups.records import GroupMetadataValue, MemberMetadata

if TYPE_CHECKING:
    from headwater.broker.groups.group import Group


def snapshot(group: "Group", assignments: Mapping[str, bytes]) -> GroupMetadataValue:
    """The present generation, with assignments that may not be in force yet."""
    return GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation,
        protocol=group.protocol_name,
        leader=group.roster.leader_id,
        current_state_timestamp=-1 if group.state_since_ms is None else group.state_since_ms,
        members=[
            MemberMetadata(
                member_id=member.id,
                group_instance_id=member.instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.rebalance_timeout_ms,
                session_timeout=member.session_timeout_ms,
                subscription=member.metadata_for(group.protocol_name),
                assignment=assignments.get(member.id, b""),
            )
            for member in group.roster
        ],
    )


def restored_members(value: GroupMetadataValue) -> list[Member]:
    """The stored members; of their protocols only the one in use is known."""
    return [
        Member(
            id=each.member_id,
            instance_id=each.group_instance_id,
            client_id=each.client_id,
            client_host=each.client_host,
            protocols=((value.protocol or "", each.subscription),),
            rebalance_timeout_ms=(
                each.session_timeout if each.rebalance_timeout < 0 else each.rebalance_timeout
            ),
            session_timeout_ms=each.session_timeout,
            assignment=each.assignment,
        )
        for each in value.members
    ]
