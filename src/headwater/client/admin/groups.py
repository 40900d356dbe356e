"""Consumer groups: list, describe with lag, move to another position, delete."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin import AdminClient

from headwater.client.admin.calls import answer
from headwater.client.admin.group_calls import WITHOUT_LIMIT_S, GroupCalls
from headwater.client.admin.standings import (
    DEAD,
    STABLE,
    GroupDetails,
    Partition,
    Standings,
    parse_state,
    state_of,
)
from headwater.client.connection import Connection
from headwater.client.kafka_errors import error_of, translate, translated
from headwater.client.local_time import local_now
from headwater.client.log_offsets import LogOffsets
from headwater.client.offset_range import parse_position
from headwater.clock import Clock
from headwater.errors import Conflict, NotFound


@dataclass(frozen=True, slots=True)
class GroupSummary:
    group: str
    state: str


@dataclass(frozen=True, slots=True)
class Move:
    topic: str
    partition: int
    before: int | None
    after: int
    end: int


@dataclass(frozen=True, slots=True)
class SeekPlan:
    group: str
    moves: tuple[Move, ...]


class Groups:
    def __init__(
        self, connection: Connection, kafka: AdminClient, log: LogOffsets, clock: Clock
    ) -> None:
        self._connection = connection
        self._kafka = kafka
        self._log = log
        self._clock = clock
        self._calls = GroupCalls(connection)
        self._standings = Standings(connection, kafka, self._calls, log, clock)

    def list(self) -> list[GroupSummary]:
        with translated("list the groups"):
            future = self._kafka.list_consumer_groups(request_timeout=self._connection.timeout_s)
        found = answer(future, doing="list the groups")
        if found.errors and not found.valid:
            raise error_of(found.errors[0], doing="list the groups")
        return [
            GroupSummary(group.group_id, state_of(group))
            for group in sorted(found.valid, key=lambda group: str(group.group_id))
            if group.group_id  # Simple consumers of old may commit as ""; no command can name it.
        ]

    def describe(self, group: str, *, ages: bool = True) -> GroupDetails:
        """The group's members and where it stands; `ages=False` skips reading lag in seconds."""
        states = {found.group: found.state for found in self.list()}
        for found in self._standings.describe({group: states.get(group, DEAD)}, ages=ages):
            return found
        raise NotFound(
            what=f"group {group!r} does not exist", hint="see the groups: headwater group list"
        )

    def describe_all(self, state: str | None = None) -> Sequence[GroupDetails]:
        """Every group, by name, or those in this state, in whatever case it is written."""
        asked = None if state is None else parse_state(state)
        listed = {found.group: found.state for found in self.list()}
        wanted = {group: each for group, each in listed.items() if asked in (None, each)}
        return self._standings.describe(wanted, ages=True)

    def plan_seek(
        self, group: str, *, to: str | int, topics: Iterable[str] | None = None
    ) -> SeekPlan:
        """What `seek` would do; without `topics`, in every topic that the group has read."""
        before = self.committed(group)
        partitions = self._partitions(group, before, topics)
        now = local_now(self._clock)
        log = self._log.ranges(partitions)
        targets = self._log.resolve(parse_position(str(to), now=now), partitions)
        return SeekPlan(
            group,
            tuple(
                Move(*place, before.get(place), min(targets[place], end), end)
                for place, (_, end) in sorted(log.items())
            ),
        )

    def plan_seek_to_group(
        self, group: str, *, other: str, topics: Iterable[str] | None = None
    ) -> SeekPlan:
        """The plan that puts `group` where `other` stands."""
        target = self.committed(other)
        wanted = None if topics is None else set(topics)
        places = [place for place in target if wanted is None or place[0] in wanted]
        if not places:
            raise NotFound(
                what=f"group {other!r} has no position to copy",
                hint=f"see: headwater group describe {other}",
            )
        before = self.committed(group)
        ends = self._log.ranges(places)
        return SeekPlan(
            group,
            tuple(
                Move(*place, before.get(place), target[place], ends[place][1])
                for place in sorted(places)
            ),
        )

    def seek(self, plan: SeekPlan) -> None:
        """Move the group; raises Conflict while it has live members."""
        self.refuse_if_live(plan.group)
        request = ConsumerGroupTopicPartitions(
            plan.group,
            [TopicPartition(move.topic, move.partition, move.after) for move in plan.moves],
        )
        doing = f"move group {plan.group!r}"
        moved = self._calls.one(
            lambda kafka: kafka.alter_consumer_group_offsets(
                [request], request_timeout=WITHOUT_LIMIT_S
            ),
            doing=doing,
        )
        for place in moved.topic_partitions:
            if place.error is not None:
                raise translate(place.error, doing=f"{doing} in {place.topic}/{place.partition}")

    def delete(self, group: str) -> None:
        """Forget the group and its positions; raises Conflict while it has live members."""
        self._calls.one(
            lambda kafka: kafka.delete_consumer_groups([group], request_timeout=WITHOUT_LIMIT_S),
            doing=f"delete group {group!r}",
        )

    def refuse_if_live(self, group: str, *, to: str = "be moved") -> None:
        """Raise Conflict while the group has members: until they are gone it cannot `to`."""
        found = self._standings.members([group])[group]
        members = len(found.members) if found else 0
        if members:
            raise Conflict(
                what=f"group {group!r} has {members} live member{'s' * (members != 1)}, so it cannot {to}",
                hint=f"stop its consumers first; headwater group describe {group} shows them",
            )

    def committed(self, group: str) -> dict[Partition, int]:
        """Where the group stands; nothing if there is no such group."""
        return self._standings.committed([group])[group]

    def owned_by_others(self, group: str, member: str | None) -> frozenset[Partition]:
        """What all members but this one read now; nothing while it is being shared out anew."""
        found = self._standings.members([group])[group]
        if found is None or state_of(found) != STABLE:
            return frozenset()
        return frozenset(
            (place.topic, place.partition)
            for each in found.members
            if each.member_id != member
            for place in each.assignment.topic_partitions
        )

    def _partitions(
        self, group: str, before: dict[Partition, int], topics: Iterable[str] | None
    ) -> Sequence[Partition]:
        if topics is None:
            if not before:
                raise NotFound(
                    what=f"group {group!r} has no position yet",
                    hint="name the topics it shall read: --topic TOPIC",
                )
            return self._standings.existing(before)
        known = self._standings.topics()
        wanted = tuple(topics)
        for topic in wanted:
            if topic not in known:
                raise NotFound(
                    what=f"topic {topic!r} does not exist",
                    hint="see the topics: headwater topic list",
                )
        return [(topic, number) for topic in wanted for number in sorted(known[topic].partitions)]
