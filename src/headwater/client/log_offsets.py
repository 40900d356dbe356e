"""Where partitions start and end, and which offset belongs to a time; many in one request."""

from collections.abc import Iterable

from confluent_kafka import (
    OFFSET_INVALID,
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from headwater.client.kafka_errors import translated
from headwater.client.offset_range import (
    Bounds,
    OffsetRange,
    Position,
    resolve_offsets,
    resolve_range,
)
from headwater.clock import Clock
from headwater.errors import HeadwaterError, NotFound, Unavailable

Partition = tuple[str, int]

_RETRY_S = 0.05


class LogOffsets:
    """Looks offsets up; ends are those that a `read_committed` reader can reach."""

    def __init__(self, kafka: AdminClient, timeout_s: float, clock: Clock) -> None:
        self._kafka = kafka
        self._timeout_s = timeout_s
        self._clock = clock

    def ranges(self, partitions: Iterable[Partition]) -> dict[Partition, tuple[int, int]]:
        """The start and the end offset of each partition."""
        wanted = list(partitions)
        starts = self._look_up(wanted, OffsetSpec.earliest())  # type: ignore[no-untyped-call]
        ends = self.ends(wanted)
        return {partition: (starts[partition], ends[partition]) for partition in wanted}

    def ends(
        self, partitions: Iterable[Partition], *, uncommitted: bool = False
    ) -> dict[Partition, int]:
        """The end offset of each partition; if asked for, counting what is not committed yet."""
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        isolation = (
            IsolationLevel.READ_UNCOMMITTED if uncommitted else IsolationLevel.READ_COMMITTED
        )
        return self._look_up(partitions, latest, isolation)

    def resolve(self, position: Position, partitions: Iterable[Partition]) -> dict[Partition, int]:
        log = self.ranges(partitions)
        return resolve_offsets(position, log, lambda time_ms: self._at_time(time_ms, log))

    def resolve_range(
        self, offsets: OffsetRange, partitions: Iterable[Partition]
    ) -> dict[Partition, Bounds]:
        log = self.ranges(partitions)
        return resolve_range(offsets, log, lambda time_ms: self._at_time(time_ms, log))

    def _at_time(self, time_ms: int, partitions: Iterable[Partition]) -> dict[Partition, int]:
        """Without the partitions that have no record at or after this time."""
        found = self._look_up(partitions, OffsetSpec.for_timestamp(time_ms))
        return {partition: offset for partition, offset in found.items() if offset >= 0}

    def _look_up(
        self,
        partitions: Iterable[Partition],
        spec: OffsetSpec,
        isolation: IsolationLevel = IsolationLevel.READ_COMMITTED,
    ) -> dict[Partition, int]:
        """Ask again for partitions that are just being made or moved, within the time limit."""
        waiting = list(partitions)
        found: dict[Partition, int] = {}
        deadline = self._clock.monotonic_s() + self._timeout_s
        while waiting:
            try:
                found |= self._ask(waiting, spec, isolation)
            except Unavailable:
                if self._clock.monotonic_s() > deadline:
                    raise
                self._kafka.poll(_RETRY_S)
            waiting = [partition for partition in waiting if partition not in found]
        return found

    def _ask(
        self, partitions: Iterable[Partition], spec: OffsetSpec, isolation: IsolationLevel
    ) -> dict[Partition, int]:
        request = {TopicPartition(topic, partition): spec for topic, partition in partitions}
        with translated("look up offsets"):
            futures = self._kafka.list_offsets(
                request, isolation_level=isolation, request_timeout=self._timeout_s
            )
        found = {}
        for asked, future in futures.items():
            with translated(f"look up offsets of {asked.topic}/{asked.partition}"):
                try:
                    offset = int(future.result().offset)
                except KafkaException as error:
                    if error.args[0].code() != KafkaError._NOENT:  # noqa: SLF001
                        raise
                    raise self._why_no_leader(asked) from error
                if offset == OFFSET_INVALID:  # so librdkafka says that the broker has just gone
                    raise Unavailable(
                        f"nobody has answered which offsets {asked.topic}/{asked.partition} has",
                        hint="try again",
                    )
                found[asked.topic, asked.partition] = offset
        return found

    def _why_no_leader(self, asked: TopicPartition) -> HeadwaterError:
        """There may be no broker or no such partition, or it is just moved: librdkafka does not tell."""
        topic = self._kafka.list_topics(timeout=self._timeout_s).topics.get(asked.topic)
        if topic is None or asked.partition not in topic.partitions:
            return NotFound(
                f"there is no partition {asked.partition} of topic {asked.topic!r}",
                hint="see the topics: headwater topic list",
            )
        return Unavailable(
            f"{asked.topic}/{asked.partition} has no leader just now", hint="try again"
        )
