"""Producers and consumer groups that go on while their broker is killed, and what they know afterwards."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

TOPIC = "orders"
PARTITIONS = 3
GROUPS = ("billing", "search")
Place = tuple[int, int]
"""(partition, offset)"""

PATIENCE_S = 100
PATIENT = {
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 200,
    "retry.backoff.ms": 20,
    "log_level": 0,
    # librdkafka joins no group while an answer about topics is due, and does not ask again if it was lost
    # with the broker: the next regular question, in five minutes by default, gets it going.
    "topic.metadata.refresh.interval.ms": 1000,
}
PRODUCERS = {
    "exact-0": {"enable.idempotence": True},
    "exact-1": {"enable.idempotence": True},
    "exact-2": {"enable.idempotence": True, "compression.type": "lz4", "linger.ms": 20},
    "quick-0": {"acks": 1, "max.in.flight": 1},
}


@dataclass
class KillWorkload:
    """Runs until `finish`; `wait_for_acks` lets the killer strike in the middle of things."""

    bootstrap: str
    acked: dict[Place, bytes] = field(default_factory=dict)
    seen: dict[str, dict[Place, bytes]] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._changed = threading.Condition()
        self._is_stopping = threading.Event()
        self._is_over = threading.Event()
        self._ends: dict[int, int] = {}
        admin = AdminClient(self._config())
        admin.create_topics([NewTopic(TOPIC, PARTITIONS)])[TOPIC].result()

    @contextmanager
    def running(self) -> Iterator[None]:
        producers = [self._started(self._produce, each) for each in PRODUCERS]
        consumers = [self._started(self._consume, each) for each in GROUPS]
        try:
            yield
            self._is_stopping.set()
            self._join(producers)
            self._ends = self._log_ends()
            self._join(consumers)
        finally:
            self._is_stopping.set()
            self._is_over.set()

    def _started(self, work: Callable[[str], None], name: str) -> threading.Thread:
        # Daemons: a broker that does not come back must fail the test, not hang it.
        thread = threading.Thread(target=work, args=(name,), name=name, daemon=True)
        thread.start()
        return thread

    def _join(self, threads: list[threading.Thread]) -> None:
        for each in threads:
            each.join(PATIENCE_S)
            if each.is_alive():
                self.failures.append(f"{each.name} got no further")

    def wait_for_acks(self, more: int, within_s: float = 60) -> None:
        with self._changed:
            wanted = len(self.acked) + more
            if not self._changed.wait_for(lambda: len(self.acked) >= wanted, within_s):
                raise AssertionError(f"no progress: {len(self.acked)} of {wanted} acknowledged")

    def _config(self) -> dict[str, object]:
        return {"bootstrap.servers": self.bootstrap, **PATIENT}

    def _produce(self, name: str) -> None:
        producer = Producer(self._config() | PRODUCERS[name])
        number = 0
        while not self._is_stopping.is_set():
            if len(producer) < 500:
                value = f"{name}:{number}".encode()
                producer.produce(
                    TOPIC, value, partition=number % PARTITIONS, on_delivery=self._delivered
                )
                number += 1
            producer.poll(0 if len(producer) < 500 else 0.01)
        if producer.flush(PATIENCE_S / 2):
            self.failures.append(f"{name} could not deliver {len(producer)} records")

    def _delivered(self, error: object, message: Message) -> None:
        with self._changed:
            if error is not None:
                self.failures.append(f"{message.value()!r} was refused: {error}")
                return
            place = (message.partition(), message.offset())
            if place in self.acked:
                self.failures.append(f"{place} was given twice")
            self.acked[place] = message.value()
            self._changed.notify_all()

    def _consume(self, group: str) -> None:
        seen = self.seen.setdefault(group, {})
        consumer = Consumer(
            self._config()
            | {"group.id": group, "auto.offset.reset": "earliest", "session.timeout.ms": 6000}
            | {"auto.commit.interval.ms": 200}
        )
        consumer.subscribe([TOPIC])
        while not self._is_at_the_end(seen) and not self._is_over.is_set():
            message = consumer.poll(0.1)
            if message is None or message.error() is not None:
                continue
            place = (message.partition(), message.offset())
            if seen.setdefault(place, message.value()) != message.value():
                self.failures.append(f"{group} saw two records at {place}")
        consumer.close()

    def _is_at_the_end(self, seen: dict[Place, bytes]) -> bool:
        if not self._ends:
            return False
        return all(end == 0 or (each, end - 1) in seen for each, end in self._ends.items())

    def _log_ends(self) -> dict[int, int]:
        consumer = Consumer(self._config() | {"group.id": "ends"})
        places = [TopicPartition(TOPIC, each) for each in range(PARTITIONS)]
        ends = {
            each.partition: consumer.get_watermark_offsets(each, timeout=PATIENCE_S)[1]
            for each in places
        }
        consumer.close()
        return ends

    def log(self) -> dict[Place, bytes]:
        """Read the whole topic, from the beginning."""
        consumer = Consumer(self._config() | {"group.id": "ends", "enable.auto.commit": False})
        consumer.assign([TopicPartition(TOPIC, each, 0) for each in range(PARTITIONS)])
        found: dict[Place, bytes] = {}
        while not self._is_at_the_end(found):
            message = consumer.poll(30)
            assert message is not None, "the log cannot be read to its end"
            assert message.error() is None, message.error()
            found[message.partition(), message.offset()] = message.value()
        consumer.close()
        return found

    def committed(self, group: str) -> dict[int, int]:
        consumer = Consumer(self._config() | {"group.id": group})
        places = [TopicPartition(TOPIC, each) for each in range(PARTITIONS)]
        found = {each.partition: each.offset for each in consumer.committed(places, timeout=30)}
        consumer.close()
        return found

    def verdict(self) -> Counter[str]:
        """Count what was promised and what was broken: everything but `acknowledged` must be 0."""
        log = self.log()
        counts = Counter(acknowledged=len(self.acked), failures=len(self.failures))
        counts["lost"] = sum(log.get(place) != value for place, value in self.acked.items())
        counts["seen then gone"] = sum(
            log.get(place) != value for seen in self.seen.values() for place, value in seen.items()
        )
        times = Counter(value for value in log.values() if value.startswith(b"exact"))
        counts["duplicated"] = sum(each - 1 for each in times.values())
        counts["reordered"] = _reordered(log)
        counts["committed beyond the end"] = sum(
            offset > self._ends[partition]
            for group in GROUPS
            for partition, offset in self.committed(group).items()
        )
        return counts


def _reordered(log: dict[Place, bytes]) -> int:
    """Count records of exact producers that stand behind a later one of the same producer."""
    highest: dict[tuple[int, bytes], int] = {}
    count = 0
    for (partition, _), value in sorted(log.items()):
        name, number = value.split(b":")
        if name.startswith(b"exact"):
            last = highest.get((partition, name), -1)
            count += int(number) < last
            highest[partition, name] = max(last, int(number))
    return count
