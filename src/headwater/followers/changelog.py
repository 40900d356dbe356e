"""Reading a topic in large pieces, from given positions on, committed records only."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import compress
from typing import Any, Final, Protocol

import confluent_kafka
from confluent_kafka import KafkaError, TopicPartition

from headwater.client.connection import CONSUMING, Connection
from headwater.client.kafka_errors import translate, translated
from headwater.errors import OffsetOutOfRange
from headwater.followers.changes import Poll, Positions

_AT_ONCE: Final = 2000
_SETTINGS: Final[Mapping[str, Any]] = {
    "group.id": "headwater-follower",
    "enable.auto.commit": False,
    "isolation.level": "read_committed",
    # A full queue is looked at again at once, not after a second.
    "fetch.queue.backoff.ms": 5,
    # How soon the broker says that nothing more has come.
    "fetch.wait.max.ms": 100,
    "topic.metadata.refresh.interval.ms": 5000,
}


@dataclass(frozen=True, slots=True)
class Portions:
    """How much is read at once, and how much of it ahead."""

    records: int = 50_000
    bytes: int = 32 << 20
    ahead_records: int = 100_000
    ahead_kbytes: int = 65536

    @property
    def settings(self) -> Mapping[str, Any]:
        ahead = {"queued.min.messages": self.ahead_records}
        return {**ahead, "queued.max.messages.kbytes": self.ahead_kbytes}


LARGE: Final = Portions()


class Changelog(Protocol):
    """The seam to whatever reads topics; `KafkaChangelog` does it with librdkafka."""

    def poll(self, max_wait_s: float) -> Poll:
        """What has arrived; empty after `max_wait_s` without anything.

        Raises `OffsetOutOfRange` when a position is not in the log, `NotFound` when the topic is gone.
        """

    def close(self) -> None: ...


class KafkaChangelog:
    def __init__(
        self,
        connection: Connection,
        topic: str,
        start: Positions,
        *,
        portions: Portions = LARGE,
        with_headers: bool = False,
    ) -> None:
        self._topic = topic
        self._portions = portions
        self._with_headers = with_headers
        self._next = dict(start)
        self._at_end: dict[int, int] = {}
        """Where a partition was seen to end, and nothing has come since."""
        self.asked_end: Positions = {}
        """Where the partitions ended when somebody asked the broker just now, from any thread."""
        self.unreachable: str = ""
        """Why the broker cannot be reached just now; empty while it can."""
        callbacks = {"error_cb": self._note_error}
        with translated(f"follow {topic!r}"):
            self._kafka = confluent_kafka.Consumer(
                connection.settings(CONSUMING, _SETTINGS, portions.settings, callbacks)
            )
            self._kafka.assign([TopicPartition(topic, p, at) for p, at in start.items()])

    def poll(self, max_wait_s: float) -> Poll:
        start = dict(self._next)
        messages = self._take(max_wait_s)
        has_error = [message.error() is not None for message in messages]
        if any(has_error):
            for message in compress(messages, has_error):
                self._note(message)
            messages = [m for m, bad in zip(messages, has_error, strict=True) if not bad]
        partitions = [message.partition() for message in messages]
        offsets = [message.offset() for message in messages]
        self._advance(partitions, offsets)
        high = {partition: self._high_watermark(partition) for partition in self._next}
        return Poll(
            keys=[message.key() for message in messages],
            values=[message.value() for message in messages],
            partitions=partitions,
            offsets=offsets,
            timestamps_ms=[message.timestamp()[1] for message in messages],
            headers=[tuple(m.headers() or ()) for m in messages] if self._with_headers else None,
            start=start,
            next=dict(self._next),
            end={
                p: at if at == self._at_end.get(p) else max(at, high[p])
                for p, at in self._next.items()
            },
            is_caught_up=self._is_caught_up(high),
        )

    def close(self) -> None:
        with translated(f"stop following {self._topic!r}"):
            self._kafka.close()

    def _take(self, max_wait_s: float) -> list[Any]:
        """The first as soon as it comes, and with it whatever is there."""
        with translated(f"follow {self._topic!r}"):
            first = self._kafka.poll(max_wait_s)
            if first is None:
                return []
            messages, size = [first], 0
            most = self._portions
            while len(messages) < most.records and size < most.bytes:
                some = self._kafka.consume(min(_AT_ONCE, most.records), 0)
                if not some:
                    break
                messages += some
                size += sum(map(len, some))
        return messages

    def _advance(self, partitions: list[int], offsets: list[int]) -> None:
        self.unreachable = "" if partitions else self.unreachable
        for partition, offset in dict(zip(partitions, offsets, strict=True)).items():
            if offset >= self._next[partition]:
                self._next[partition] = offset + 1

    def _note(self, message: Any) -> None:
        error = message.error()
        code = error.code()
        if code == KafkaError._PARTITION_EOF:  # noqa: SLF001
            self.unreachable = ""
            self._next[message.partition()] = self._at_end[message.partition()] = message.offset()
        elif code == KafkaError._AUTO_OFFSET_RESET:  # noqa: SLF001
            raise OffsetOutOfRange(
                f"{self._topic}/{message.partition()} does not hold the offset to go on from",
                hint="its records were removed, or the topic was made anew",
            )
        elif error.fatal() or not error.retriable():
            raise translate(error, doing=f"follow {self._topic!r}")

    def _note_error(self, error: KafkaError) -> None:
        if error.code() in (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT):  # noqa: SLF001
            self.unreachable = error.str()

    def _high_watermark(self, partition: int) -> int:
        """As the last answer of the broker says; negative before the first."""
        with translated(f"follow {self._topic!r}"):
            found = self._kafka.get_watermark_offsets(
                TopicPartition(self._topic, partition), cached=True
            )
        return found[1] if found else -1

    def _is_caught_up(self, high: Positions) -> bool:
        """Whether nothing is behind the last record, or was not when the broker was asked.

        A topic that is written to all the time never says that it ends, and one with transactions has
        markers behind its last record, so neither sign alone is enough.
        """
        asked = self.asked_end
        is_at_end = all(
            at == self._at_end.get(partition)
            or 0 <= high[partition] <= at
            or at >= asked.get(partition, at + 1)
            for partition, at in self._next.items()
        )
        if is_at_end:
            self.asked_end = {}  # it was true of that moment only
        return is_at_end
