"""Who is in a group: members, static identities, members still to come, the leader, the ballot.

Bookkeeping only: it does not know states, generations or time.
"""

from collections.abc import Iterator

from headwater.broker.deadlines import Deadline
from headwater.broker.groups.member import AnswerJoin, Member
from headwater.broker.groups.voting import Ballot, Protocols
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.join_group import JoinGroupResponse
from headwater.wire.messages.sync_group import SyncGroupResponse


class Roster:
    """Invariant: there is a leader exactly when there is a member, and it is one of them."""

    def __init__(self) -> None:
        self.leader_id: str | None = None
        self.pending: dict[str, Deadline] = {}
        """Ids given out (MEMBER_ID_REQUIRED) whose owners have not come back yet."""
        self._members: dict[str, Member] = {}
        self._static_ids: dict[str, str] = {}
        self._ballot = Ballot()
        self._awaiting_join = 0

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Member]:
        return iter(tuple(self._members.values()))

    def __contains__(self, member_id: str) -> bool:
        return member_id in self._members

    def __getitem__(self, member_id: str) -> Member:
        return self._members[member_id]

    def get(self, member_id: str) -> Member | None:
        return self._members.get(member_id)

    def static_member(self, instance_id: str | None) -> Member | None:
        if instance_id is None or instance_id not in self._static_ids:
            return None
        return self._members[self._static_ids[instance_id]]

    def is_leader(self, member: Member) -> bool:
        return member.id == self.leader_id

    def check(self, member_id: str, instance_id: str | None) -> ErrorCode:
        """Whether this is a member; a static one must also be the current owner of its identity."""
        if instance_id is not None:
            current_id = self._static_ids.get(instance_id)
            if current_id is not None and current_id != member_id:
                return ErrorCode.FENCED_INSTANCE_ID
            if current_id is None:
                return ErrorCode.UNKNOWN_MEMBER_ID
        return ErrorCode.NONE if member_id in self._members else ErrorCode.UNKNOWN_MEMBER_ID

    def add(self, member: Member) -> None:
        self._members[member.id] = member
        self._ballot.add(member.protocols)
        self._awaiting_join += member.is_awaiting_join
        if member.instance_id is not None:
            self._static_ids[member.instance_id] = member.id
        if self.leader_id is None:
            self.leader_id = member.id

    def remove(self, member: Member) -> None:
        """Forget a member; the longest-standing of the others leads if it led."""
        del self._members[member.id]
        self._ballot.remove(member.protocols)
        self._awaiting_join -= member.is_awaiting_join
        if member.instance_id is not None:
            del self._static_ids[member.instance_id]
        if self.leader_id == member.id:
            self.leader_id = next(iter(self._members), None)

    def replace(self, old: Member, new: Member) -> None:
        """Give a static identity to a new member, which leads if the old one did."""
        led = self.is_leader(old)
        self.remove(old)
        self.add(new)
        if led:
            self.leader_id = new.id

    def change_protocols(self, member: Member, protocols: Protocols) -> None:
        self._ballot.remove(member.protocols)
        member.protocols = protocols
        self._ballot.add(protocols)

    def supports(self, protocols: Protocols) -> bool:
        """Whether all members know one of these protocols."""
        return self._ballot.has_common((name for name, _ in protocols), len(self._members))

    def elect_protocol(self) -> str:
        return self._ballot.elect([member.protocols for member in self._members.values()])

    def await_join(self, member: Member, answer: AnswerJoin | None) -> None:
        """Park a join. An older one of the same member is told to try again: its socket is gone."""
        if member.answer_join is not None:
            retry = JoinGroupResponse(
                error_code=ErrorCode.REBALANCE_IN_PROGRESS, member_id=member.id
            )
            self.answer_join(member, retry)
        member.answer_join = answer
        self._awaiting_join += answer is not None

    def answer_join(self, member: Member, response: JoinGroupResponse) -> None:
        if member.answer_join is not None:
            member.answer_join(response)
            member.answer_join = None
            self._awaiting_join -= member.id in self._members

    def answer_sync(self, member: Member, response: SyncGroupResponse) -> None:
        if member.answer_sync is not None:
            member.answer_sync(response)
            member.answer_sync = None

    @property
    def awaiting_join(self) -> int:
        return self._awaiting_join

    def has_all_joined(self) -> bool:
        return self._awaiting_join == len(self._members) and not self.pending

    def elect_joined_leader(self) -> bool:
        """Keep the leader if it has joined, else take the first that has; False if none has."""
        if self.leader_id is not None and self._members[self.leader_id].is_awaiting_join:
            return True
        joined = next((each.id for each in self._members.values() if each.is_awaiting_join), None)
        self.leader_id = joined or self.leader_id
        return joined is not None

    def rebalance_timeout_s(self) -> float:
        """The slowest member decides how long a rebalance may take."""
        longest_ms = max((each.rebalance_timeout_ms for each in self._members.values()), default=0)
        return max(longest_ms, 0) / 1000
