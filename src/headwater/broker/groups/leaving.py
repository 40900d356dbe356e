"""LeaveGroup: members that go, or that an administrator removes by their instance id."""

from collections.abc import Sequence

from headwater.broker.deadlines import Now
from headwater.broker.groups.group import Group
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.leave_group import MemberIdentity, MemberResponse


def leave(group: Group, leavers: Sequence[MemberIdentity], now: Now) -> list[MemberResponse]:
    """Remove the members that are known, then rebalance once among those who stay."""
    size = len(group.roster)
    errors = [_leave_one(group, each) for each in leavers]
    if len(group.roster) < size:
        group.rebalance(now)
    else:
        group.complete_join_if_all_joined(now)
    return [answer(each, error) for each, error in zip(leavers, errors, strict=True)]


def answer(leaver: MemberIdentity, error: ErrorCode) -> MemberResponse:
    return MemberResponse(
        member_id=leaver.member_id, group_instance_id=leaver.group_instance_id, error_code=error
    )


def _leave_one(group: Group, leaver: MemberIdentity) -> ErrorCode:
    if leaver.member_id in group.roster.pending:
        group.unreserve(leaver.member_id)
        return ErrorCode.NONE
    if not leaver.member_id:
        member = group.roster.static_member(leaver.group_instance_id)
        if member is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
    else:
        refusal = group.roster.check(leaver.member_id, leaver.group_instance_id)
        if refusal:
            return refusal
        member = group.roster[leaver.member_id]
    group.drop(member)
    return ErrorCode.NONE
