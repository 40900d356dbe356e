"""JoinGroup: new members, members that come back, and static members that return under a new id."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from headwater.broker.deadlines import Now
from headwater.broker.groups.group import Group, GroupState
from headwater.broker.groups.member import AnswerJoin, Client, Member, protocols_of
from headwater.broker.groups.voting import Protocols
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from headwater.wire.messages.sync_group import SyncGroupResponse


@dataclass(frozen=True, slots=True)
class JoinAttempt:
    """A JoinGroup on its way to being answered; `fresh_id` is for a member that has no id yet."""

    request: JoinGroupRequest
    client: Client
    fresh_id: str
    answer: AnswerJoin

    def refuse(self, error: ErrorCode, member_id: str | None = None) -> None:
        shown_id = self.request.member_id if member_id is None else member_id
        self.answer(JoinGroupResponse(error_code=error, member_id=shown_id))


def join(group: Group, attempt: JoinAttempt, now: Now) -> None:
    """Answer at once if nothing has to change, else when the next generation begins."""
    request = attempt.request
    protocols = protocols_of(request)
    if group.state is GroupState.DEAD:
        attempt.refuse(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    elif not _has_room(group, request.member_id):
        _turn_away(group, request.member_id, now)
        attempt.refuse(ErrorCode.GROUP_MAX_SIZE_REACHED, member_id="")
    elif not _fits(group, request.protocol_type, protocols):
        attempt.refuse(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    elif not request.member_id:
        _join_without_id(group, attempt, now)
    elif request.group_instance_id is None and request.member_id in group.roster.pending:
        group.admit(_new_member(group, attempt, request.member_id), request.protocol_type, now)
    else:
        _rejoin(group, attempt, now)


def _has_room(group: Group, member_id: str) -> bool:
    """During a rebalance those who joined count, so that the last to come back are turned away."""
    limit = group.settings.max_size
    if group.state is GroupState.EMPTY:
        return True
    member = group.roster.get(member_id)
    if group.state is GroupState.PREPARING_REBALANCE:
        return (
            member is not None and member.is_awaiting_join
        ) or group.roster.awaiting_join < limit
    return member is not None or len(group.roster) < limit


def _turn_away(group: Group, member_id: str, now: Now) -> None:
    group.unreserve(member_id)
    member = group.roster.get(member_id)
    if member is not None:
        group.drop(member)
    group.complete_join_if_all_joined(now)


def _fits(group: Group, protocol_type: str, protocols: Protocols) -> bool:
    if group.state is GroupState.EMPTY:
        return bool(protocol_type and protocols)
    return group.protocol_type == protocol_type and group.roster.supports(protocols)


def _join_without_id(group: Group, attempt: JoinAttempt, now: Now) -> None:
    request = attempt.request
    returning = group.roster.static_member(request.group_instance_id)
    if returning is not None:
        _replace_static_member(group, returning, attempt, now)
    elif request.group_instance_id is None and attempt.client.must_rejoin_with_its_id:
        group.reserve(attempt.fresh_id, request.session_timeout_ms, now)
        attempt.refuse(ErrorCode.MEMBER_ID_REQUIRED, attempt.fresh_id)
    else:
        group.admit(_new_member(group, attempt, attempt.fresh_id), request.protocol_type, now)


def _new_member(group: Group, attempt: JoinAttempt, member_id: str) -> Member:
    request = attempt.request
    return group.bind_session(
        Member(
            id=member_id,
            instance_id=request.group_instance_id,
            client_id=attempt.client.id,
            client_host=attempt.client.host,
            protocols=protocols_of(request),
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
            is_new=True,
            answer_join=attempt.answer,
        )
    )


def _rejoin(group: Group, attempt: JoinAttempt, now: Now) -> None:
    """A leader's rejoin is a wish to rebalance; a follower's is one only if it changed."""
    request = attempt.request
    refusal = group.roster.check(request.member_id, request.group_instance_id)
    if refusal:
        attempt.refuse(refusal)
        return
    member = group.roster[request.member_id]
    protocols = protocols_of(request)
    lost_its_answer = group.state is GroupState.COMPLETING_REBALANCE
    is_idle_follower = group.state is GroupState.STABLE and not group.roster.is_leader(member)
    if member.protocols == protocols and (lost_its_answer or is_idle_follower):
        attempt.answer(group.join_response(member))
        return
    group.roster.change_protocols(member, protocols)
    member.rebalance_timeout_ms = request.rebalance_timeout_ms
    member.session_timeout_ms = request.session_timeout_ms
    group.roster.await_join(member, attempt.answer)
    group.rebalance(now)


def _replace_static_member(group: Group, old: Member, attempt: JoinAttempt, now: Now) -> None:
    """Fence the old owner of a static identity; a stable group goes on without a rebalance."""
    request = attempt.request
    old_leader_id = group.roster.leader_id
    new = group.bind_session(
        replace(
            old,
            id=attempt.fresh_id,
            protocols=protocols_of(request),
            rebalance_timeout_ms=request.rebalance_timeout_ms,
            session_timeout_ms=request.session_timeout_ms,
            is_new=False,
            answer_join=None,
            answer_sync=None,
        )
    )
    _fence(group, old)
    group.roster.replace(old, new)
    group.roster.await_join(new, attempt.answer)
    group.keep_alive(new, now.s)
    if group.state is GroupState.COMPLETING_REBALANCE:
        # The leader may be assigning to the old id at this moment.
        group.prepare_rebalance(now)
    elif group.state is GroupState.STABLE and group.roster.elect_protocol() == group.protocol_name:
        assignments = {member.id: member.assignment for member in group.roster}
        group.store(assignments, _return_once_stored(group, old, new, attempt, old_leader_id))
    else:
        group.rebalance(now)


def _fence(group: Group, old: Member) -> None:
    fenced = ErrorCode.FENCED_INSTANCE_ID
    group.roster.answer_join(
        old, JoinGroupResponse(error_code=fenced, member_id=old.id, protocol_name=None)
    )
    group.roster.answer_sync(old, SyncGroupResponse(error_code=fenced))
    group.deadlines.cancel(old.session)


def _return_once_stored(
    group: Group, old: Member, new: Member, attempt: JoinAttempt, old_leader_id: str | None
) -> Callable[[ErrorCode, Now], None]:
    generation = group.generation

    def stored(error: ErrorCode, now: Now) -> None:
        is_current = group.state is GroupState.STABLE and group.generation == generation
        if not is_current or group.roster.get(new.id) is not new:
            return  # a rebalance has begun meanwhile, and answers the member
        if error:
            failed = JoinGroupResponse(error_code=error, generation_id=generation)
            group.roster.answer_join(new, failed)
            group.deadlines.cancel(new.session)
            group.roster.replace(new, old)
            group.keep_alive(old, now.s)
            return
        response = group.join_response(new)
        if attempt.client.can_skip_assignment:
            response.skip_assignment = group.roster.is_leader(new)
        else:
            # A leader would compute a new assignment; by the old id it takes itself for a follower.
            response.leader = old_leader_id or ""
            response.members = ()
        group.roster.answer_join(new, response)
        group.keep_alive(new, now.s)

    return stored
