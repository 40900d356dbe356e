"""Where consumer groups stand: members, positions, lag in records and in seconds.

Many groups cost as many round trips as one: what is asked of each is asked of all at once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import ConsumerGroupState, ConsumerGroupTopicPartitions
from confluent_kafka.admin import AdminClient

from headwater.client.admin.group_calls import WITHOUT_LIMIT_S, Future, GroupCalls
from headwater.client.admin.lag import timestamps_at
from headwater.client.connection import Connection
from headwater.client.kafka_errors import translated
from headwater.client.log_offsets import LogOffsets
from headwater.clock import Clock
from headwater.errors import InvalidRequest

Partition = tuple[str, int]
DEAD = "dead"
STABLE = "stable"


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


class Standings:
    def __init__(
        self,
        connection: Connection,
        kafka: AdminClient,
        calls: GroupCalls,
        log: LogOffsets,
        clock: Clock,
    ) -> None:
        self._connection = connection
        self._kafka = kafka
        self._calls = calls
        self._log = log
        self._clock = clock

    def describe(self, groups: Mapping[str, str], *, ages: bool) -> list[GroupDetails]:
        """Those of `groups` (name -> state) that exist; `ages=False` skips reading lag in seconds."""
        described = self.members(groups)
        committed = self.committed(described)
        owners = {group: owners_in(found) for group, found in described.items()}
        places = self.existing(
            place for group in described for place in (*committed[group], *owners[group])
        )
        log = self._log.ranges(places)
        behind = {
            (place, offset)
            for positions in committed.values()
            for place, offset in positions.items()
            if place in log and _lag(offset, log[place])
        }
        seconds = self._ages(behind) if ages else {}
        return [
            GroupDetails(
                group=group,
                state=groups[group] if found is None else state_of(found),
                assignor=(found and found.partition_assignor) or "",
                coordinator=found.coordinator.id if found and found.coordinator else None,
                members=tuple(_member(member) for member in found.members) if found else (),
                partitions=tuple(
                    _standing(
                        place, committed[group].get(place), log[place], seconds, owners[group]
                    )
                    for place in places
                    if place in committed[group] or place in owners[group]
                ),
            )
            for group, found in described.items()
            if (groups[group] if found is None else state_of(found)) != DEAD or committed[group]
        ]

    def members(self, groups: Iterable[str]) -> dict[str, Any]:
        """Describe each group in librdkafka's words; None where it finds none."""

        def ask(kafka: AdminClient, names: list[str]) -> Iterable[Future]:
            return kafka.describe_consumer_groups(names, request_timeout=WITHOUT_LIMIT_S).values()

        return self._calls.all(groups, ask, doing="describe group")

    def committed(self, groups: Iterable[str]) -> dict[str, dict[Partition, int]]:
        """The positions of each group."""

        def ask(kafka: AdminClient, names: list[str]) -> Iterable[Future]:
            for name in names:
                yield from kafka.list_consumer_group_offsets(
                    [ConsumerGroupTopicPartitions(name)], request_timeout=WITHOUT_LIMIT_S
                ).values()

        found = self._calls.all(groups, ask, doing="read the position of group")
        return {group: _positions(each) for group, each in found.items()}

    def existing(self, places: Iterable[Partition]) -> Sequence[Partition]:
        """Those that are still there: a group may have a position in a topic that was deleted."""
        known = self.topics()
        return sorted(
            (topic, number)
            for topic, number in set(places)
            if topic in known and number in known[topic].partitions
        )

    def topics(self) -> Any:
        with translated("list the topics"):
            return self._kafka.list_topics(timeout=self._connection.timeout_s).topics

    def _ages(self, behind: Iterable[tuple[Partition, int]]) -> dict[tuple[Partition, int], float]:
        """How old the record at each position is, in seconds."""
        waiting = sorted(behind)
        seconds: dict[tuple[Partition, int], float] = {}
        while waiting:
            # Groups may stand at different places of one partition: one place of each at a time.
            now = dict(waiting)
            found = timestamps_at(self._connection, now, self._clock)
            now_ms = self._clock.now_ms()
            seconds |= {
                (place, now[place]): max(now_ms - at_ms, 0) / 1000 for place, at_ms in found.items()
            }
            waiting = [each for each in waiting if now[each[0]] != each[1]]
        return seconds


def state_of(group: Any) -> str:
    """`stable`, `empty`, `dead`, ... in lower case, as every word of ours."""
    return _word_for(group.state)


def parse_state(text: str) -> str:
    """The state that is meant, as `state_of` writes it."""
    known = [_word_for(state) for state in ConsumerGroupState]
    asked = text.lower().replace("_", "-")
    if asked not in known:
        raise InvalidRequest(
            what=f"a group has no state {text!r}", hint=f"use one of {', '.join(known)}"
        )
    return asked


def _word_for(state: ConsumerGroupState) -> str:
    return state.name.lower().replace("_", "-")


def _member(member: Any) -> Member:
    return Member(
        id=member.member_id,
        client_id=member.client_id,
        host=member.host,
        partitions=tuple((p.topic, p.partition) for p in member.assignment.topic_partitions),
    )


def owners_in(found: Any) -> dict[Partition, str]:
    """Who reads which partition, by client id."""
    if found is None:
        return {}
    return {
        (place.topic, place.partition): member.client_id
        for member in found.members
        for place in member.assignment.topic_partitions
    }


def _positions(found: Any) -> dict[Partition, int]:
    if found is None:
        return {}
    return {
        (place.topic, place.partition): place.offset
        for place in found.topic_partitions
        if place.offset >= 0
    }


def _lag(committed: int, bounds: tuple[int, int]) -> int:
    start, end = bounds
    return max(end - max(committed, start), 0)


def _standing(
    place: Partition,
    committed: int | None,
    bounds: tuple[int, int],
    seconds: Mapping[tuple[Partition, int], float],
    owners: Mapping[Partition, str],
) -> GroupPartition:
    lag = None if committed is None else _lag(committed, bounds)
    age = 0.0 if lag == 0 else seconds.get((place, committed)) if committed is not None else None
    return GroupPartition(
        *place,
        committed=committed,
        end=bounds[1],
        lag=lag,
        lag_seconds=age,
        member=owners.get(place),
    )
