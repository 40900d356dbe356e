"""Random joins, syncs, heartbeats, leaves, timeouts and disk failures: what must always hold."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from broker.groups.fakes import Answer, GroupRig
from headwater.broker.groups.group import GroupState
from headwater.wire.error_codes import ErrorCode
from rigs.effort import examples

METADATA = st.sampled_from([b"one topic", b"two topics"])
INSTANCES = ("a", "b")
SEEN = st.integers(0, 30)
"""Which of the ids that were ever given out a request names."""


class GroupMachine(RuleBasedStateMachine):
    @initialize(delay_ms=st.sampled_from([0, 3000]), max_size=st.sampled_from([3, 100]))
    def begin(self, delay_ms: int, max_size: int) -> None:
        self.rig = GroupRig(
            is_durable_at_once=False, initial_rebalance_delay_ms=delay_ms, max_size=max_size
        )
        self.ids: list[tuple[str, str | None]] = []
        self.answers: list[Answer] = []
        self.joins: list[tuple[Answer, str | None]] = []
        self.syncs: list[tuple[Answer, str, int]] = []
        self.generation = 0
        self.last_led: dict[int, str] = {}

    # What clients do

    @rule(metadata=METADATA, version=st.sampled_from([3, 4, 9]))
    def new_member_joins(self, metadata: bytes, version: int) -> None:
        self._join("", None, metadata, version)

    @rule(metadata=METADATA, instance=st.sampled_from(INSTANCES), version=st.sampled_from([8, 9]))
    def static_member_starts(self, metadata: bytes, instance: str, version: int) -> None:
        self._join("", instance, metadata, version)

    @rule(seen=SEEN, metadata=METADATA)
    def member_joins_again(self, seen: int, metadata: bytes) -> None:
        member_id, instance = self._seen(seen)
        self._join(member_id, instance, metadata, 9)

    @rule()
    def everybody_joins_again(self) -> None:
        for member in self.rig.group.roster:
            if not member.is_awaiting_join:
                self._join(member.id, member.instance_id, b"one topic", 9)

    @rule(seen=SEEN, age=st.sampled_from([0, 0, 0, 1]))
    def member_syncs(self, seen: int, age: int) -> None:
        self._sync(*self._seen(seen), self.rig.group.generation - age)

    @rule()
    def everybody_syncs(self) -> None:
        for member in self.rig.group.roster:
            knows_its_id = (member.id, member.instance_id) in self.ids
            if member.answer_sync is None and knows_its_id:
                self._sync(member.id, member.instance_id, self.rig.group.generation)

    @rule(seen=SEEN)
    def member_beats(self, seen: int) -> None:
        member_id, instance = self._seen(seen)
        self.rig.heartbeat(member_id, instance_id=instance)

    @rule(seen=SEEN)
    def member_leaves(self, seen: int) -> None:
        self.rig.leave(self._seen(seen)[0])

    # What happens to them

    @rule(seconds=st.sampled_from([0.5, 3, 9, 11, 61]))
    def time_passes(self, seconds: float) -> None:
        self.rig.advance(seconds)

    @rule(is_durable=st.sampled_from([True, True, False]))
    def write_ends(self, is_durable: bool) -> None:
        if self.rig.to_store:
            self.rig.settle(ErrorCode.NONE if is_durable else ErrorCode.NOT_COORDINATOR)

    def _seen(self, seen: int) -> tuple[str, str | None]:
        return self.ids[seen % len(self.ids)] if self.ids else ("nobody", None)

    def _join(self, member_id: str, instance: str | None, metadata: bytes, version: int) -> None:
        answer = self.rig.join(
            member_id, instance_id=instance, protocols={"range": metadata}, version=version
        )
        self.answers.append(answer)
        self.joins.append((answer, instance))

    def _sync(self, member_id: str, instance: str | None, generation: int) -> None:
        assignments = {
            member.id: f"{generation} {member.id}".encode() for member in self.rig.group.roster
        }
        answer = self.rig.sync(member_id, assignments, generation=generation, instance_id=instance)
        self.answers.append(answer)
        self.syncs.append((answer, member_id, generation))

    # What must hold

    @invariant()
    def answers_are_noted(self) -> None:
        for answer, instance in self.joins:
            if not answer.is_waiting and answer.response.member_id:
                self.ids.append((answer.response.member_id, instance))
        self.joins = [each for each in self.joins if each[0].is_waiting]
        self.ids = list(dict.fromkeys(self.ids))

    @invariant()
    def generation_never_goes_back(self) -> None:
        assert self.rig.group.generation >= self.generation
        self.generation = self.rig.group.generation

    @invariant()
    def there_is_a_leader_exactly_if_there_are_members(self) -> None:
        roster = self.rig.group.roster
        assert (roster.leader_id is None) == (len(roster) == 0)
        assert roster.leader_id is None or roster.leader_id in roster

    @invariant()
    def at_most_one_member_was_told_to_lead_a_generation(self) -> None:
        for answer in self.answers:
            response = answer.response
            if answer.error is not ErrorCode.NONE or not hasattr(response, "leader"):
                continue
            leads = response.leader == response.member_id and not response.skip_assignment
            if leads:
                first = self.last_led.setdefault(response.generation_id, response.member_id)
                assert first == response.member_id

    @invariant()
    def members_that_wait_are_counted(self) -> None:
        roster = self.rig.group.roster
        assert roster.awaiting_join == sum(member.is_awaiting_join for member in roster)
        assert roster.pending.keys().isdisjoint(member.id for member in roster)

    @invariant()
    def state_fits_the_members(self) -> None:
        group = self.rig.group
        if group.state is GroupState.EMPTY:
            assert len(group.roster) == 0
        if group.state in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE):
            assert len(group.roster) > 0
            assert group.protocol_name == "range"
        if group.state is not GroupState.COMPLETING_REBALANCE:
            assert all(member.answer_sync is None for member in group.roster)

    @invariant()
    def member_gets_the_assignment_of_its_own_generation(self) -> None:
        for answer, member_id, generation in self.syncs:
            if answer.error is ErrorCode.NONE:
                given = answer.response.assignment.decode()
                stored = self._stored_assignment(member_id, generation)
                assert given == stored
                assert given.startswith(f"{generation} ") or given == ""

    def _stored_assignment(self, member_id: str, generation: int) -> str:
        """What a restart would give the member: answers may not promise anything else."""
        found = [
            member.assignment.decode()
            for value in self.rig.stored
            if value.generation == generation
            for member in value.members
            if member.member_id == member_id
        ]
        return found[-1] if found else "nothing is stored"

    def teardown(self) -> None:
        if not hasattr(self, "rig"):
            return
        while self.rig.to_store:
            self.rig.settle()
        self.rig.is_durable_at_once = True
        self.rig.advance(10_000)
        assert [each for each in self.answers if each.is_waiting] == []
        assert self.rig.group.state is GroupState.EMPTY
        assert self.rig.group.roster.pending == {}


GroupMachine.TestCase.settings = settings(
    max_examples=examples(150), stateful_step_count=40, deadline=None
)
TestGroupMachine: Any = GroupMachine.TestCase
