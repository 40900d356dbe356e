"""Which partitions a consumer reads, from where and until where; and the positions its group keeps.

A consumer without a group reads every partition, or those it names. A group shares them out: each comes
with the position that the group keeps of it, and takes along what was read of it when it goes.
"""

import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, TopicPartition

from headwater.client.decoder import OnBad
from headwater.client.kafka_errors import error_of, translate, translated
from headwater.client.log_offsets import LogOffsets
from headwater.client.offset_range import Bounds, OffsetRange, Position
from headwater.client.read_bounds import Partition, ReadBounds
from headwater.client.value_format import FormatName
from headwater.clock import SystemClock
from headwater.errors import Conflict, HeadwaterError, InvalidRequest, NotFound

_log = logging.getLogger("headwater.client")

_AGAIN_S: Final = 0.05
_NOT_IN_A_REBALANCE: Final = (KafkaError.REBALANCE_IN_PROGRESS, KafkaError.ILLEGAL_GENERATION)
"""What a group answers to a position that is stored while its partitions are shared out anew."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What to read and how; see `Client.consumer`."""

    topics: tuple[str, ...]
    group: str | None
    offsets: OffsetRange
    partitions: tuple[int, ...] | None = None
    value_format: FormatName = "json"
    on_bad: OnBad = "raise"

    @property
    def doing(self) -> str:
        """What an error says that cannot be done."""
        return f"read {', '.join(self.topics)}"


class Assignment:
    """Follows what librdkafka is given and loses; `forget` is called with partitions that are gone."""

    def __init__(
        self,
        kafka: confluent_kafka.Consumer,
        reading: Reading,
        log: LogOffsets,
        timeout_s: float,
        forget: Callable[[set[Partition]], None],
    ) -> None:
        self._kafka = kafka
        self._reading = reading
        self._log = log
        self._timeout_s = timeout_s
        self._forget = forget
        self._is_given = False
        self._is_leaving = False
        self.bounds = ReadBounds()

    @property
    def is_done(self) -> bool:
        """Whether everything that was asked for has been read."""
        return self._is_given and self.bounds.is_done

    def others(self) -> set[Partition]:
        """The partitions of the topics that this consumer does not read."""
        return set(self._all_partitions()) - self.bounds.assigned

    def begin(self) -> None:
        with translated(self._reading.doing):
            if self._reading.group is None:
                bounds = self._log.resolve_range(self._reading.offsets, self._all_partitions())
                self._kafka.assign([TopicPartition(*p, b.start) for p, b in bounds.items()])
                self._note(bounds)
            else:
                self._kafka.subscribe(
                    list(self._reading.topics),
                    on_assign=self._on_assign,
                    on_revoke=self._on_revoke,
                    on_lost=self._on_lost,
                )

    def seek(self, position: Position, topic: str | None, partition: int | None) -> set[Partition]:
        """Go on at another position in the partitions named, all if none is; which these are."""
        chosen = {
            assigned
            for assigned in self.bounds.assigned
            if topic in (None, assigned[0]) and partition in (None, assigned[1])
        }
        if not chosen:
            raise InvalidRequest(
                what="no such partition is assigned to this consumer",
                hint="give the position as start= when the consumer is made",
            )
        for moved, offset in self._log.resolve(position, chosen).items():
            with translated(f"seek in {moved[0]}/{moved[1]}"):
                self._kafka.seek(TopicPartition(*moved, offset))
            self.bounds.move(moved, offset)
        return chosen

    def store(self, finished: Iterable[Any]) -> None:
        """Let the group's positions be behind these messages, with the next commit."""
        if self._reading.group is None:
            return
        last = {partition_of(message): message for message in finished}
        for message in last.values():
            try:
                self._kafka.store_offsets(message=message)
            except KafkaException as error:
                # The partition was given to another member, which will read the record again.
                _log.warning("%s", error_of(error, doing="store a position"))

    def commit(self) -> None:
        """Make what was stored durable; raises Conflict if the group has gone on without this member.

        While its members are shared out anew a group takes no positions, or only those of the generation
        that is to come: librdkafka knows it as soon as there is one, and then they are taken.
        """
        if self._reading.group is None:
            return
        clock = SystemClock()
        until_s = clock.monotonic_s() + self._timeout_s
        while (error := self._commit_once()) is not None:
            if error.code() not in _NOT_IN_A_REBALANCE or clock.monotonic_s() > until_s:
                raise self._uncommitted(error)
            time.sleep(_AGAIN_S)

    def leave(self) -> None:
        """Leave the group, which shares out the partitions of this member at once, and close."""
        self._is_leaving = True
        with translated("close the consumer"):
            if self._reading.group is not None and not self.bounds.assigned:
                # `close` alone does not tell the group of a member that has no partitions: it would wait
                # for it in vain, until its session times out.
                self._kafka.unsubscribe()
            self._kafka.close()

    def _commit_once(self) -> KafkaError | None:
        """What the group has against it, if anything."""
        try:
            self._kafka.commit(asynchronous=False)
        except KafkaException as error:
            found: KafkaError = error.args[0]
            return None if found.code() == KafkaError._NO_OFFSET else found  # noqa: SLF001
        return None

    def _uncommitted(self, error: KafkaError) -> HeadwaterError:
        doing = f"store the position of group {self._reading.group!r}"
        if error.code() in (KafkaError.UNKNOWN_MEMBER_ID, KafkaError.ILLEGAL_GENERATION):
            return Conflict(
                what=f"cannot {doing}: the group has given this member's partitions away",
                hint="its last records will be read again, by their new owner",
            )
        return error_of(error, doing=doing)

    def _all_partitions(self) -> list[Partition]:
        found: list[Partition] = []
        for topic in self._reading.topics:
            with translated(self._reading.doing):
                metadata = self._kafka.list_topics(topic, timeout=self._timeout_s).topics[topic]
            if metadata.error is not None:
                raise translate(metadata.error, doing=f"read {topic!r}")
            wanted = self._reading.partitions or sorted(metadata.partitions)
            missing = set(wanted) - set(metadata.partitions)
            if missing:
                raise NotFound(
                    what=f"topic {topic!r} has no partition {min(missing)}",
                    hint=f"it has partitions 0 to {len(metadata.partitions) - 1}",
                )
            found.extend((topic, partition) for partition in wanted)
        return found

    def _note(self, bounds: dict[Partition, Bounds]) -> None:
        for partition, bound in bounds.items():
            self.bounds.assign(partition, bound)
        self._is_given = True

    def _on_assign(self, _: object, assigned: list[TopicPartition]) -> None:
        """Start at the group's position; only a partition without one starts at `start`."""
        if self._is_leaving:
            return  # whoever asks for positions now gets no answer
        with translated(self._reading.doing):
            committed = self._kafka.committed(assigned, timeout=self._timeout_s)
            bounds = self._log.resolve_range(
                self._reading.offsets, [(p.topic, p.partition) for p in assigned]
            )
            for place in committed:
                if place.offset >= 0:
                    partition = (place.topic, place.partition)
                    bounds[partition] = Bounds(place.offset, bounds[partition].until)
            starts = [TopicPartition(*p, b.start) for p, b in bounds.items()]
            self._kafka.incremental_assign(starts)
            # A group that begins at "end" and dies before its first commit must come back to the
            # same place, or it would skip what arrived in between.
            if any(place.offset < 0 for place in committed):
                self._kafka.commit(offsets=starts, asynchronous=True)
        self._note(bounds)

    def _on_revoke(self, _: object, revoked: list[TopicPartition]) -> None:
        error = self._commit_once()
        if error is not None:
            _log.warning(
                "positions were not stored, records will be read again: %s",
                self._uncommitted(error),
            )
        self._on_lost(_, revoked)

    def _on_lost(self, _: object, lost: list[TopicPartition]) -> None:
        gone = {(p.topic, p.partition) for p in lost}
        for partition in gone:
            self.bounds.revoke(partition)
        self._forget(gone)


def partition_of(message: Any) -> Partition:
    return message.topic(), message.partition()
