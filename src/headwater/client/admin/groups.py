"""Consumer groups: list, describe with lag, move to another position, delete."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from headwater.client.admin.calls import answer, only_answer
from headwater.client.admin.lag import timestamps_at
from headwater.client.connection import Connection
from headwater.client.kafka_errors import error_of, translate, translated
from headwater.client.log_offsets import LogOffsets
from headwater.client.offset_range import parse_position
from headwater.client.record import datetime_of
from headwater.clock import Clock
from headwater.errors import Conflict, NotFound

Partition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class GroupSummary:
    group: str
    state: str


@dataclass(frozen=True, slots=True)
class Member:
    id: str
    client_id: str
    host: str
    partitions: tuple[Partition, ...]


@dataclass(frozen=True, slots=True)
class GroupPartition:
    """Where the group stands in one partition."""

    topic: str
    partition: int
    committed: int | None
    end: int
    lag: int | None
    """Records not yet read; None while the group has no position here."""
    lag_seconds: float | None
    """Age of the oldest record not yet read; 0 without lag, None when it could not be read."""
    member: str | None
    """Client id of the member that reads it."""


@dataclass(frozen=True, slots=True)
class GroupDetails:
    group: str
    state: str
    assignor: str
    coordinator: int | None
    members: tuple[Member, ...]
    partitions: tuple[GroupPartition, ...]

    @property
    def lag(self) -> int:
        return sum(place.lag or 0 for place in self.partitions)

    @property
    def lag_seconds(self) -> float | None:
        """Of the partition that is furthest behind."""
        known = [p.lag_seconds for p in self.partitions if p.lag_seconds is not None]
        return max(known, default=None)


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

    def list(self) -> list[GroupSummary]:
        with translated("list the groups"):
            future = self._kafka.list_consumer_groups(request_timeout=self._connection.timeout_s)
        found = answer(future, doing="list the groups")
        if found.errors and not found.valid:
            raise error_of(found.errors[0], doing="list the groups")
        return [
            GroupSummary(group.group_id, _state(group))
            for group in sorted(found.valid, key=lambda group: str(group.group_id))
            if group.group_id  # Simple consumers of old may commit as ""; no command can name it.
        ]

    def describe(self, group: str, *, ages: bool = True) -> GroupDetails:
        """The group's members and where it stands; `ages=False` skips reading lag in seconds."""
        found = self._describe(group)
        committed = self._committed(group)
        owners = {
            (place.topic, place.partition): member.client_id
            for member in found.members
            for place in member.assignment.topic_partitions
        }
        if _state(found) == "dead" and not committed:
            raise NotFound(
                what=f"group {group!r} does not exist", hint="see the groups: headwater group list"
            )
        return GroupDetails(
            group=group,
            state=_state(found),
            assignor=found.partition_assignor or "",
            coordinator=found.coordinator.id if found.coordinator else None,
            members=tuple(_member(member) for member in found.members),
            partitions=self._standing(committed, owners, ages=ages),
        )

    def plan_seek(
        self, group: str, *, to: str | int, topics: Iterable[str] | None = None
    ) -> SeekPlan:
        """What `seek` would do; without `topics`, in every topic that the group has read."""
        before = self._committed(group)
        partitions = self._partitions(group, before, topics)
        now = datetime_of(self._clock.now_ms()).astimezone()
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
        target = self._committed(other)
        wanted = None if topics is None else set(topics)
        places = [place for place in target if wanted is None or place[0] in wanted]
        if not places:
            raise NotFound(
                what=f"group {other!r} has no position to copy",
                hint=f"see: headwater group describe {other}",
            )
        before = self._committed(group)
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
        with translated(doing):
            futures = self._kafka.alter_consumer_group_offsets(
                [request], request_timeout=self._connection.timeout_s
            )
        for place in only_answer(futures, doing=doing).topic_partitions:
            if place.error is not None:
                raise translate(place.error, doing=f"{doing} in {place.topic}/{place.partition}")

    def delete(self, group: str) -> None:
        """Forget the group and its positions; raises Conflict while it has live members."""
        doing = f"delete group {group!r}"
        with translated(doing):
            futures = self._kafka.delete_consumer_groups(
                [group], request_timeout=self._connection.timeout_s
            )
        only_answer(futures, doing=doing)

    def refuse_if_live(self, group: str) -> None:
        members = len(self._describe(group).members)
        if members:
            raise Conflict(
                what=f"group {group!r} has {members} live member{'s' * (members != 1)}, "
                "so its position cannot be moved",
                hint=f"stop its consumers first; headwater group describe {group} shows them",
            )

    def _describe(self, group: str) -> Any:
        doing = f"describe group {group!r}"
        with translated(doing):
            futures = self._kafka.describe_consumer_groups(
                [group], request_timeout=self._connection.timeout_s
            )
        return only_answer(futures, doing=doing)

    def _committed(self, group: str) -> dict[Partition, int]:
        doing = f"read the position of group {group!r}"
        try:
            futures = self._kafka.list_consumer_group_offsets(
                [ConsumerGroupTopicPartitions(group)],
                request_timeout=self._connection.timeout_s,
            )
            (future,) = futures.values()
            found = future.result()
        except KafkaException as error:
            if error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:
                return {}
            raise error_of(error, doing=doing) from error
        return {
            (place.topic, place.partition): place.offset
            for place in found.topic_partitions
            if place.offset >= 0
        }

    def _standing(
        self, committed: dict[Partition, int], owners: dict[Partition, str], *, ages: bool
    ) -> tuple[GroupPartition, ...]:
        places = self._existing({*committed, *owners})
        log = self._log.ranges(places)
        lags = {
            place: max(log[place][1] - max(committed[place], log[place][0]), 0)
            for place in places
            if place in committed
        }
        behind = {place: committed[place] for place, lag in lags.items() if lag} if ages else {}
        oldest = timestamps_at(self._connection, behind, self._clock)
        now_ms = self._clock.now_ms()
        seconds: dict[Partition, float] = {place: 0.0 for place, lag in lags.items() if not lag}
        seconds |= {place: max(now_ms - at_ms, 0) / 1000 for place, at_ms in oldest.items()}
        return tuple(
            GroupPartition(
                *place,
                committed=committed.get(place),
                end=log[place][1],
                lag=lags.get(place),
                lag_seconds=seconds.get(place),
                member=owners.get(place),
            )
            for place in places
        )

    def _existing(self, places: Iterable[Partition]) -> Sequence[Partition]:
        """Those that are still there: a group may have a position in a topic that was deleted."""
        known = self._topics()
        return sorted(
            (topic, number)
            for topic, number in places
            if topic in known and number in known[topic].partitions
        )

    def _topics(self) -> Any:
        with translated("list the topics"):
            return self._kafka.list_topics(timeout=self._connection.timeout_s).topics

    def _partitions(
        self, group: str, before: dict[Partition, int], topics: Iterable[str] | None
    ) -> Sequence[Partition]:
        if topics is None:
            if not before:
                raise NotFound(
                    what=f"group {group!r} has no position yet",
                    hint="name the topics it shall read: --topic TOPIC",
                )
            return self._existing(before)
        known = self._topics()
        wanted = tuple(topics)
        for topic in wanted:
            if topic not in known:
                raise NotFound(
                    what=f"topic {topic!r} does not exist",
                    hint="see the topics: headwater topic list",
                )
        return [(topic, number) for topic in wanted for number in sorted(known[topic].partitions)]


def _state(group: Any) -> str:
    """`stable`, `empty`, `dead`, ... in lower case, as every word of ours."""
    return str(group.state.name).lower().replace("_", "-")


def _member(member: Any) -> Member:
    return Member(
        id=member.member_id,
        client_id=member.client_id,
        host=member.host,
        partitions=tuple((p.topic, p.partition) for p in member.assignment.topic_partitions),
    )
