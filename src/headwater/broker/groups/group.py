"""One classic group as a state machine: who is in it, in which generation, and what it waits for.

    Empty -> PreparingRebalance -> CompletingRebalance -> Stable -> PreparingRebalance ...
                    |                                                       any -> Dead
                    +-> Empty (nobody joined)

PreparingRebalance waits for JoinGroups, CompletingRebalance for SyncGroups. Nothing here blocks or
asks the time: answers go through callbacks, `now` is an argument, timeouts are set on `Deadlines`,
and what must be durable is handed to `store`. The requests that drive it: joining.py, syncing.py,
leaving.py.
"""

import enum
from collections.abc import Callable, Mapping
from functools import partial
from typing import TypeAlias

from headwater.broker.deadlines import Deadline, Deadlines, Now
from headwater.broker.groups.member import Member
from headwater.broker.groups.records import GroupMetadataValue
from headwater.broker.groups.roster import Roster
from headwater.broker.groups.settings import GroupSettings
from headwater.broker.groups.snapshot import restored_members, snapshot
from headwater.broker.groups.subscription import CONSUMER_PROTOCOL_TYPE, subscribed_topics
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from headwater.wire.messages.sync_group import SyncGroupResponse

Stored: TypeAlias = Callable[[ErrorCode, Now], None]
"""Called once what was to be stored is durable (NONE) or is known not to be."""
Store: TypeAlias = Callable[[str, GroupMetadataValue, Stored], None]
"""Makes the state of the group with this id durable, then reports."""

_SHORTEST_WAIT_FOR_REJOIN_S = 0.5
"""A member may ask for a rebalance timeout of 0; we do not spin on it."""


class GroupState(enum.Enum):
    """Kafka's states, by Kafka's names."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


class Group:
    """Invariant: whoever waits for an answer to a join or a sync gets one, and only one."""

    def __init__(
        self, group_id: str, settings: GroupSettings, deadlines: Deadlines, store: Store
    ) -> None:
        self.id = group_id
        self.settings = settings
        self.state = GroupState.EMPTY
        self.state_since_ms: int | None = None
        self.generation = 0
        self.protocol_type: str | None = None
        """None for a group that only ever stored offsets (a simple consumer's)."""
        self.protocol_name: str | None = None
        self.subscribed_topics: frozenset[str] | None = None
        """None if unknown: not a consumer group, or subscriptions that we cannot read."""
        self.roster = Roster()
        self.deadlines = deadlines
        self._store = store
        self._not_synced: set[str] = set()
        self._join_due = Deadline(self._on_join_due)
        self._sync_due = Deadline(self._on_sync_due)
        self._initial_delay_left_s: float | None = None
        self._has_newcomers = False

    # Liveness

    def heartbeat(
        self, member_id: str, instance_id: str | None, generation: int, now_s: float
    ) -> ErrorCode:
        """Keep a member's session open, and tell it whether it has to rejoin. The hot call."""
        if self.state is GroupState.DEAD:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        refusal = self.roster.check(member_id, instance_id)
        if refusal:
            return refusal
        if generation != self.generation:
            return ErrorCode.ILLEGAL_GENERATION
        self.keep_alive(self.roster[member_id], now_s)
        if self.state is GroupState.PREPARING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS
        return ErrorCode.NONE

    def keep_alive(self, member: Member, now_s: float) -> None:
        self.deadlines.set(member.session, now_s + member.session_timeout_ms / 1000)

    def _on_session_due(self, member: Member, now: Now) -> None:
        if self.roster.get(member.id) is member and not member.is_excused_from_heartbeat:
            self.drop(member)
            self.rebalance(now)

    # Membership

    def reserve(self, member_id: str, session_timeout_ms: int, now: Now) -> None:
        """Expect a member with this id to join before its session times out."""
        deadline = Deadline(partial(self._on_pending_due, member_id))
        self.roster.pending[member_id] = deadline
        self.deadlines.set(deadline, now.s + session_timeout_ms / 1000)

    def unreserve(self, member_id: str) -> None:
        deadline = self.roster.pending.pop(member_id, None)
        if deadline is not None:
            self.deadlines.cancel(deadline)

    def _on_pending_due(self, member_id: str, now: Now) -> None:
        self.unreserve(member_id)
        self.complete_join_if_all_joined(now)

    def bind_session(self, member: Member) -> Member:
        """Make the end of the member's session its removal from this group."""
        member.session = Deadline(partial(self._on_session_due, member))
        return member

    def admit(self, member: Member, protocol_type: str, now: Now) -> None:
        """Take in a new member, which waits for the next generation."""
        self.unreserve(member.id)
        if not self.roster:
            self.protocol_type = protocol_type
        self.roster.add(member)
        self._has_newcomers = True
        self.deadlines.set(member.session, now.s + self.settings.new_member_join_timeout_ms / 1000)
        self.rebalance(now)

    def drop(self, member: Member) -> None:
        """Remove a member; if it waits for an answer, it is told to start again."""
        unknown = ErrorCode.UNKNOWN_MEMBER_ID
        self.roster.answer_join(member, JoinGroupResponse(error_code=unknown))
        self.roster.answer_sync(member, SyncGroupResponse(error_code=unknown))
        self.roster.remove(member)
        self.deadlines.cancel(member.session)
        self._not_synced.discard(member.id)

    # The join phase

    def rebalance(self, now: Now) -> None:
        """Begin a rebalance, or go on with the one under way."""
        if self.state is GroupState.PREPARING_REBALANCE:
            self.complete_join_if_all_joined(now)
        elif self.state is not GroupState.DEAD:
            self.prepare_rebalance(now)

    def prepare_rebalance(self, now: Now) -> None:
        """Ask all members to join again; members learn of it by their next heartbeat."""
        if self.state is GroupState.COMPLETING_REBALANCE:
            self.fail_syncs(ErrorCode.REBALANCE_IN_PROGRESS, now)
        self._not_synced.clear()
        self.deadlines.cancel(self._sync_due)
        is_initial = self.state is GroupState.EMPTY
        self._enter(GroupState.PREPARING_REBALANCE, now)
        delay_s = self.settings.initial_rebalance_delay_ms / 1000
        if is_initial and delay_s > 0:
            self._has_newcomers = False
            self._initial_delay_left_s = max(self.roster.rebalance_timeout_s() - delay_s, 0)
            self.deadlines.set(self._join_due, now.s + delay_s)
        elif is_initial or self.roster.has_all_joined():
            self._complete_join(now)
        else:
            self.deadlines.set(self._join_due, now.s + self.roster.rebalance_timeout_s())

    def complete_join_if_all_joined(self, now: Now) -> None:
        """End the join phase early, except the first one: it waits its delay for more members."""
        if (
            self.state is GroupState.PREPARING_REBALANCE
            and self._initial_delay_left_s is None
            and self.roster.has_all_joined()
        ):
            self._complete_join(now)

    def _on_join_due(self, now: Now) -> None:
        left_s = self._initial_delay_left_s
        if left_s and self._has_newcomers:
            delay_s = self.settings.initial_rebalance_delay_ms / 1000
            self._has_newcomers = False
            self._initial_delay_left_s = max(left_s - delay_s, 0)
            self.deadlines.set(self._join_due, now.s + min(delay_s, left_s))
        else:
            self._complete_join(now)

    def _complete_join(self, now: Now) -> None:
        """Begin the next generation with those who joined; static members may be late (KIP-345)."""
        self.deadlines.cancel(self._join_due)
        self._initial_delay_left_s = None
        for member in self.roster:
            if not member.is_awaiting_join and not member.is_static:
                self.drop(member)
        if self.roster and not self.roster.elect_joined_leader():
            wait_s = max(self.roster.rebalance_timeout_s(), _SHORTEST_WAIT_FOR_REJOIN_S)
            self.deadlines.set(self._join_due, now.s + wait_s)
            return
        self.generation += 1
        if self.roster:
            self._await_syncs(now)
        else:
            self._become_empty(now)

    def _become_empty(self, now: Now) -> None:
        self.protocol_name = None
        self.note_subscriptions()
        self._enter(GroupState.EMPTY, now)
        # If this is lost in a crash, the last generation comes back and its sessions time out.
        self.store({}, lambda _error, _now: None)

    def _await_syncs(self, now: Now) -> None:
        self.protocol_name = self.roster.elect_protocol()
        self.note_subscriptions()
        self._enter(GroupState.COMPLETING_REBALANCE, now)
        for member in self.roster:
            self.roster.answer_join(member, self.join_response(member))
            self.keep_alive(member, now.s)
            member.is_new = False
            self._not_synced.add(member.id)
        self.deadlines.set(self._sync_due, now.s + self.roster.rebalance_timeout_s())

    def join_response(self, member: Member) -> JoinGroupResponse:
        """The current generation as one member sees it; only the leader sees the others."""
        members: list[JoinGroupResponseMember] = []
        if self.roster.is_leader(member):
            members = [
                JoinGroupResponseMember(
                    member_id=each.id,
                    group_instance_id=each.instance_id,
                    metadata=each.metadata_for(self.protocol_name),
                )
                for each in self.roster
            ]
        return JoinGroupResponse(
            generation_id=self.generation,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            leader=self.roster.leader_id or "",
            member_id=member.id,
            members=members,
        )

    # The sync phase

    def note_synced(self, member: Member) -> None:
        self._not_synced.discard(member.id)
        if not self._not_synced:
            self.deadlines.cancel(self._sync_due)

    def stabilize(self, now: Now) -> None:
        """Hand out the assignments that are now durable."""
        for member in self.roster:
            if member.answer_sync is not None:
                self.roster.answer_sync(member, self.sync_response(member))
                self.keep_alive(member, now.s)
        self._enter(GroupState.STABLE, now)

    def fail_syncs(self, error: ErrorCode, now: Now) -> None:
        """Take the assignments back."""
        for member in self.roster:
            member.assignment = b""
            if member.answer_sync is not None:
                self.roster.answer_sync(member, SyncGroupResponse(error_code=error))
                self.keep_alive(member, now.s)

    def sync_response(self, member: Member) -> SyncGroupResponse:
        return SyncGroupResponse(
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            assignment=member.assignment,
        )

    def _on_sync_due(self, now: Now) -> None:
        late = [member for member in self.roster if member.id in self._not_synced]
        for member in late:
            self.drop(member)
        if late:
            self.prepare_rebalance(now)

    # What is durable

    def store(self, assignments: Mapping[str, bytes], stored: Stored) -> None:
        """Make this generation durable with the given assignments."""
        self._store(self.id, snapshot(self, assignments), stored)

    def restore(self, value: GroupMetadataValue) -> None:
        """Become what was stored; to be called on a new group. Sessions begin with `resume`."""
        for member in restored_members(value):
            self.roster.add(self.bind_session(member))
        if value.leader is not None and value.leader in self.roster:
            self.roster.leader_id = value.leader
        since_ms = value.current_state_timestamp
        self.state = GroupState.STABLE if value.members else GroupState.EMPTY
        self.state_since_ms = None if since_ms < 0 else since_ms
        self.generation = value.generation
        self.protocol_type = value.protocol_type or None
        self.protocol_name = value.protocol
        self.note_subscriptions()

    def resume(self, now: Now) -> None:
        """Begin the members' sessions anew after a restart."""
        for member in self.roster:
            self.keep_alive(member, now.s)
        if len(self.roster) > self.settings.max_size:
            self.prepare_rebalance(now)

    def close(self, now: Now, error: ErrorCode) -> None:
        """Answer everyone who waits; the group takes part in nothing any more."""
        for member in self.roster:
            response = JoinGroupResponse(error_code=error, member_id=member.id)
            self.roster.answer_join(member, response)
            self.roster.answer_sync(member, SyncGroupResponse(error_code=error))
            self.deadlines.cancel(member.session)
        for member_id in list(self.roster.pending):
            self.unreserve(member_id)
        self.deadlines.cancel(self._join_due)
        self.deadlines.cancel(self._sync_due)
        self._enter(GroupState.DEAD, now)

    # Facts

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member consumes the topic; a consumer group that we cannot read may do so."""
        if self.subscribed_topics is None:
            return self.protocol_type == CONSUMER_PROTOCOL_TYPE
        return topic in self.subscribed_topics

    def note_subscriptions(self) -> None:
        self.subscribed_topics = None
        if self.protocol_type == CONSUMER_PROTOCOL_TYPE:
            self.subscribed_topics = subscribed_topics(
                member.metadata_for(self.protocol_name) for member in self.roster
            )

    def _enter(self, state: GroupState, now: Now) -> None:
        self.state = state
        self.state_since_ms = now.ms
