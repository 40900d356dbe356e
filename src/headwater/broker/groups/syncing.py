"""SyncGroup: the leader hands in everyone's assignment; it is given out once it is durable."""

from headwater.broker.deadlines import Now
from headwater.broker.groups.group import Group, GroupState, Stored
from headwater.broker.groups.member import AnswerSync, Member
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse


def sync(group: Group, request: SyncGroupRequest, answer: AnswerSync) -> None:
    """Answer with the member's assignment, at once or when the leader has handed it in."""
    refusal = _refusal(group, request)
    if refusal:
        answer(SyncGroupResponse(error_code=refusal))
        return
    member = group.roster[request.member_id]
    group.note_synced(member)
    if group.state is GroupState.STABLE:
        answer(group.sync_response(member))
    else:
        _await_sync(group, member, answer)
        if group.roster.is_leader(member):
            _store_assignments(group, request)


def _refusal(group: Group, request: SyncGroupRequest) -> ErrorCode:
    if group.state is GroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    unknown = group.roster.check(request.member_id, request.group_instance_id)
    if unknown:
        return unknown
    if request.generation_id != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    is_same_type = request.protocol_type in (None, group.protocol_type)
    is_same_name = request.protocol_name in (None, group.protocol_name)
    if not (is_same_type and is_same_name):
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if group.state is GroupState.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def _await_sync(group: Group, member: Member, answer: AnswerSync) -> None:
    """Park a sync. An older one of the same member is told to try again: its socket is gone."""
    retry = SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
    group.roster.answer_sync(member, retry)
    member.answer_sync = answer


def _store_assignments(group: Group, request: SyncGroupRequest) -> None:
    assignments = {each.member_id: each.assignment for each in request.assignments}
    group.store(assignments, _give_out_once_stored(group, assignments))


def _give_out_once_stored(group: Group, assignments: dict[str, bytes]) -> Stored:
    generation = group.generation

    def stored(error: ErrorCode, now: Now) -> None:
        if group.state is not GroupState.COMPLETING_REBALANCE or group.generation != generation:
            return  # a rebalance has begun meanwhile, and has answered the members
        if error:
            group.fail_syncs(error, now)
            group.prepare_rebalance(now)
            return
        for member in group.roster:
            member.assignment = assignments.get(member.id, b"")
        group.stabilize(now)

    return stored
