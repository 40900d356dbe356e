"""Topics: create, list, describe, alter, delete, trim, add partitions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import KafkaError, TopicCollection, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from headwater.client.admin.calls import only_answer
from headwater.client.admin.topic_configs import TOPIC_CONFIGS, suggestion
from headwater.client.kafka_errors import translate, translated
from headwater.client.local_time import local_now
from headwater.client.log_offsets import LogOffsets
from headwater.client.offset_range import Exact, Position, parse_position
from headwater.clock import Clock
from headwater.errors import Conflict, InvalidRequest, NotFound


@dataclass(frozen=True, slots=True)
class TopicSummary:
    name: str
    partitions: int
    replicas: int
    records: int
    """Offsets between start and end; compaction and transactions leave holes that count here."""
    is_internal: bool


@dataclass(frozen=True, slots=True)
class PartitionDetails:
    partition: int
    leader: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    start_offset: int
    end_offset: int


@dataclass(frozen=True, slots=True)
class TopicConfig:
    name: str
    value: str | None
    source: str
    """Where the value comes from: `topic`, `broker` or `default`."""
    is_read_only: bool


@dataclass(frozen=True, slots=True)
class TopicIdentity:
    """What those who follow a topic rely on: it is still the same, with the same partitions."""

    id: str
    partitions: int


@dataclass(frozen=True, slots=True)
class TopicDetails:
    name: str
    partitions: tuple[PartitionDetails, ...]
    configs: tuple[TopicConfig, ...]


@dataclass(frozen=True, slots=True)
class Trim:
    """One partition's part of a trim: the log starts at `after` instead of `before`."""

    partition: int
    before: int
    after: int
    end: int

    @property
    def records(self) -> int:
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class TrimPlan:
    topic: str
    trims: tuple[Trim, ...]

    @property
    def records(self) -> int:
        return sum(trim.records for trim in self.trims)


class Topics:
    def __init__(self, kafka: AdminClient, log: LogOffsets, timeout_s: float, clock: Clock) -> None:
        self._kafka = kafka
        self._log = log
        self._timeout_s = timeout_s
        self._clock = clock

    def create(
        self,
        topic: str,
        *,
        partitions: int | None = None,
        replicas: int | None = None,
        configs: Mapping[str, str] | None = None,
    ) -> None:
        """Create a topic; partitions and replicas left out are the broker's defaults."""
        for name in configs or {}:
            _refuse_unknown(name)
        doing = f"create topic {topic!r}"
        with translated(doing):
            request = NewTopic(
                topic,
                num_partitions=-1 if partitions is None else partitions,
                replication_factor=-1 if replicas is None else replicas,
                config=dict(configs or {}),
            )
            futures = self._kafka.create_topics([request], **self._timeouts)
        only_answer(futures, doing=doing)

    def names(self) -> list[str]:
        return sorted(self._metadata().topics)

    def id(self, topic: str) -> str:
        """What tells a topic from an earlier one of the same name; raises NotFound."""
        return self.identity(topic).id

    def identity(self, topic: str) -> TopicIdentity:
        """Its id and how many partitions it has, by one question; raises NotFound."""
        doing = f"look up topic {topic!r}"
        with translated(doing):
            futures = self._kafka.describe_topics(
                TopicCollection([topic]), request_timeout=self._timeout_s
            )
        found = only_answer(futures, doing=doing)
        return TopicIdentity(str(found.topic_id).translate(_URL_SAFE), len(found.partitions))

    def list(self, *, internal: bool = False) -> list[TopicSummary]:
        """Every topic, by name; internal ones only when asked for."""
        topics = [
            topic
            for name, topic in sorted(self._metadata().topics.items())
            if topic.error is None and (internal or not name.startswith("__"))
        ]
        log = self._log.ranges(
            (topic.topic, number) for topic in topics for number in topic.partitions
        )
        return [
            TopicSummary(
                name=topic.topic,
                partitions=len(topic.partitions),
                replicas=max((len(p.replicas) for p in topic.partitions.values()), default=0),
                records=sum(
                    end - start
                    for start, end in (log[topic.topic, number] for number in topic.partitions)
                ),
                is_internal=topic.topic.startswith("__"),
            )
            for topic in topics
        ]

    def sizes(self, names: Iterable[str]) -> dict[str, int]:
        """How many records each of these topics holds; those that do not exist are left out."""
        found: dict[str, int] = {}
        for (name, _), (start, end) in self._ranges(names).items():
            found[name] = found.get(name, 0) + end - start
        return found

    def ends_of(self, names: Iterable[str]) -> dict[str, int]:
        """How far each of these topics reaches, over all its partitions: it grows with every record."""
        found: dict[str, int] = {}
        for (name, _), (_, end) in self._ranges(names).items():
            found[name] = found.get(name, 0) + end
        return found

    def describe(self, topic: str) -> TopicDetails:
        metadata = self._partitions_of(topic)
        log = self._log.ranges((topic, number) for number in metadata)
        return TopicDetails(
            name=topic,
            partitions=tuple(
                PartitionDetails(
                    partition=number,
                    leader=found.leader,
                    replicas=tuple(found.replicas),
                    in_sync=tuple(found.isrs),
                    start_offset=log[topic, number][0],
                    end_offset=log[topic, number][1],
                )
                for number, found in sorted(metadata.items())
            ),
            configs=self.configs(topic),
        )

    def ends(
        self, topic: str, partitions: Iterable[int], *, uncommitted: bool = False
    ) -> dict[int, int]:
        """Where partitions end for a reader of committed records, or, if asked for, of any."""
        wanted = [(topic, number) for number in partitions]
        found = self._log.ends(wanted, uncommitted=uncommitted)
        return {number: end for (_, number), end in found.items()}

    def configs(self, topic: str) -> tuple[TopicConfig, ...]:
        doing = f"describe topic {topic!r}"
        with translated(doing):
            futures = self._kafka.describe_configs(
                [ConfigResource(ResourceType.TOPIC, topic)], request_timeout=self._timeout_s
            )
        found = only_answer(futures, doing=doing)
        return tuple(
            TopicConfig(name, entry.value, _SOURCES.get(entry.source, "broker"), entry.is_read_only)
            for name, entry in sorted(found.items())
        )

    def alter(
        self,
        topic: str,
        *,
        set: Mapping[str, str] | None = None,  # noqa: A002
        unset: Iterable[str] = (),
    ) -> None:
        """Change settings of a topic; `unset` goes back to the broker's default."""
        known = tuple(config.name for config in self.configs(topic))
        changes = [
            *((name, value, AlterConfigOpType.SET) for name, value in (set or {}).items()),
            *((name, None, AlterConfigOpType.DELETE) for name in unset),
        ]
        for name, _, _ in changes:
            _refuse_unknown(name, known)
        entries = [
            ConfigEntry(name, value, incremental_operation=operation)
            for name, value, operation in changes
        ]
        doing = f"alter topic {topic!r}"
        with translated(doing):
            futures = self._kafka.incremental_alter_configs(
                [ConfigResource(ResourceType.TOPIC, topic, incremental_configs=entries)],
                request_timeout=self._timeout_s,
            )
        only_answer(futures, doing=doing)

    def add_partitions(self, topic: str, *, total: int) -> None:
        """Raise the number of partitions to `total`; keys are spread anew from then on."""
        doing = f"raise the partitions of topic {topic!r} to {total}"
        with translated(doing):
            futures = self._kafka.create_partitions([NewPartitions(topic, total)], **self._timeouts)
        only_answer(futures, doing=doing)

    def delete(self, topic: str) -> None:
        doing = f"delete topic {topic!r}"
        with translated(doing):
            futures = self._kafka.delete_topics([topic], **self._timeouts)
        only_answer(futures, doing=doing)

    def plan_trim(self, topic: str, *, before: str | int) -> TrimPlan:
        """What `trim` would remove: all records before a position such as "@-7d", "end" or 1000.

        Raises Conflict for an offset beyond the end: it would remove everything.
        """
        now = local_now(self._clock)
        position = parse_position(str(before), now=now)
        partitions = [(topic, number) for number in self._partitions_of(topic)]
        log = self._log.ranges(partitions)
        _refuse_if_beyond(position, log)
        new_starts = self._log.resolve(position, partitions)
        return TrimPlan(
            topic,
            tuple(
                Trim(number, start, min(new_starts[name, number], end), end)
                for (name, number), (start, end) in sorted(log.items())
            ),
        )

    def trim(self, plan: TrimPlan) -> None:
        """Remove the records before each partition's new start, for good.

        Raises Conflict for a topic that is only compacted.
        """
        wanted = [
            TopicPartition(plan.topic, trim.partition, trim.after)
            for trim in plan.trims
            if trim.records
        ]
        if not wanted:
            return
        self.refuse_if_only_compacted(plan.topic)
        with translated(f"trim topic {plan.topic!r}"):
            futures = self._kafka.delete_records(wanted, **self._timeouts)
        for partition, future in futures.items():
            with translated(f"trim {plan.topic}/{partition.partition}"):
                future.result()

    def refuse_if_only_compacted(self, topic: str) -> None:
        """Before the broker does, because it does not say why."""
        policy = next((c.value for c in self.configs(topic) if c.name == "cleanup.policy"), None)
        if policy and "delete" not in policy:
            raise Conflict(
                what=f"topic {topic!r} has cleanup.policy={policy}, so it cannot be trimmed",
                hint="a compacted record goes when its key gets another, or a tombstone; to trim, first: "
                f"headwater topic alter {topic} --set cleanup.policy=compact,delete",
            )

    def _ranges(self, names: Iterable[str]) -> dict[tuple[str, int], tuple[int, int]]:
        """Where the partitions of those topics that exist begin and end."""
        wanted = set(names)
        return self._log.ranges(
            (name, number)
            for name, topic in self._metadata().topics.items()
            if name in wanted and topic.error is None
            for number in topic.partitions
        )

    @property
    def _timeouts(self) -> dict[str, float]:
        return {"request_timeout": self._timeout_s, "operation_timeout": self._timeout_s}

    def _metadata(self) -> Any:
        with translated("list the topics"):
            return self._kafka.list_topics(timeout=self._timeout_s)

    def _partitions_of(self, topic: str) -> dict[int, Any]:
        # All topics, not this one: asking for one by name would create it on some brokers.
        metadata = self._metadata().topics.get(topic)
        if metadata is None:
            raise NotFound(
                what=f"topic {topic!r} does not exist", hint="see the topics: headwater topic list"
            )
        if metadata.error is not None and metadata.error.code() != KafkaError.LEADER_NOT_AVAILABLE:
            raise translate(metadata.error, doing=f"describe topic {topic!r}")
        return dict(metadata.partitions)


_URL_SAFE = str.maketrans("+/", "-_")
"""As Kafka's own tools print ids."""

_SOURCES = {
    ConfigSource.DYNAMIC_TOPIC_CONFIG.value: "topic",
    ConfigSource.DEFAULT_CONFIG.value: "default",
}


def _refuse_if_beyond(position: Position, log: Mapping[tuple[str, int], tuple[int, int]]) -> None:
    if not isinstance(position, Exact):
        return
    for (topic, number), (start, end) in sorted(log.items()):
        if start < end < position.offset:
            raise Conflict(
                what=f"offset {position.offset} is not in {topic}/{number}, which ends at {end}",
                hint="to remove everything that is there, give the position end",
            )


def _refuse_unknown(name: str, known: tuple[str, ...] = TOPIC_CONFIGS) -> None:
    """Before the broker does, because it cannot suggest."""
    if name not in known:
        raise InvalidRequest(what=f"a topic has no setting {name!r}", hint=suggestion(name, known))
