"""A busy hour of a broker in one second, through a real client, and what its users were told.

Intents are marked before a request, outcomes after its answer: what a cut leaves must lie between the two.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from crash.uneven_syncs import uneven
from headwater.broker.broker import Broker as EmbeddedBroker
from headwater.broker.groups.records import TopicPartition as GroupPartition
from headwater.config import BrokerSettings
from headwater.log.partition import PartitionLog
from headwater.testing import Broker, SettableClock
from headwater.testing.power_cut import RecordingDisk
from log.batches import read_all

PARTITIONS = 2
SMALL = {"segment.bytes": "1500", "retention.ms": "-1"}
COMPACT = SMALL | {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"}
GROUPS = ("billing", "search")
DATA = "some/where/data"
NEW = b"new"
MANUAL = {"enable.auto.commit": False}


@dataclass(frozen=True, slots=True)
class Said:
    """`what` was asked for, or (`is_done`) answered: Topic, Config, Committed, Trimmed."""

    key: tuple[str, ...]
    value: object
    is_done: bool


@dataclass(frozen=True, slots=True)
class Stored:
    """A record that its producer knows to be stored, or that a reader has seen."""

    topic: str
    generation: int
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None


@dataclass
class BrokerWorkload:
    """Drives a broker on a recording disk; topics come and go, `generation` tells them apart."""

    root: Path
    random: Random
    generations: dict[str, int] = field(default_factory=dict)

    def run(self, rounds: int) -> RecordingDisk:
        self.disk = RecordingDisk(self.root, sync_seconds=uneven(self.random))
        self.mark = self.disk.recording.mark
        with Broker(
            data=self.root / DATA, disk=self.disk, retention_check_ms=20, compaction_check_ms=20
        ) as self.broker:
            self._make_small_logs()
            address = {"bootstrap.servers": self.broker.bootstrap, "log_level": 0}
            self.admin = AdminClient(address)
            self.producers = [Producer(address | {"enable.idempotence": True}) for _ in range(2)]
            self.consumers = {
                each: Consumer(address | {"group.id": each} | MANUAL) for each in GROUPS
            }
            for name, configs in (("orders", SMALL), ("table", COMPACT), ("fleeting", SMALL)):
                self._create(name, configs)
            self.positions = dict.fromkeys(range(PARTITIONS), 0)
            self.consumers[GROUPS[0]].assign(
                [TopicPartition("orders", each, 0) for each in self.positions]
            )
            for number in range(rounds):
                self._produce(number)
                self._consume()
                self._commit(number)
                if number % 3 == 1:
                    self._trim(number)
                    self._configure(number)
                if number % 3 == 2:
                    self._delete("fleeting")
                    self._create("fleeting", SMALL)
                if number == rounds // 2:
                    self.broker.restart()
                    self._make_small_logs()
            for each in self.consumers.values():
                each.close()
        return self.disk

    def _make_small_logs(self) -> None:
        """The broker's own logs roll and are compacted too."""

        async def shrink() -> None:
            embedded = self.broker.embedded
            offsets = embedded.topics.get("__consumer_offsets")
            assert offsets is not None
            for log in (offsets.partitions[0].log, embedded.metadata.partition.log):
                log.settings = replace(
                    log.settings, segment_bytes=900, min_cleanable_dirty_ratio=0.01
                )

        self.broker.call(shrink)

    def _say(self, key: tuple[str, ...], value: object, *, is_done: bool) -> None:
        self.mark(Said(key, value, is_done))

    def _create(self, name: str, configs: Mapping[str, str]) -> None:
        generation = self.generations[name] = self.generations.get(name, 0) + 1
        self._say(("topic", name), generation, is_done=False)

        async def create() -> None:
            # Not through the protocol, which refuses segments this small, as Kafka does.
            await self.broker.embedded.topics.create(name, PARTITIONS, dict(configs))

        self.broker.call(create)
        self._say(("topic", name), generation, is_done=True)

    def _delete(self, name: str) -> None:
        self._say(("topic", name), None, is_done=False)
        for each in self.admin.delete_topics([name]).values():
            each.result()
        self._say(("topic", name), None, is_done=True)

    def _produce(self, number: int) -> None:
        for who, producer in enumerate(self.producers):
            for each in range(12):
                topic = self.random.choice(["orders", "orders", "table", "fleeting"])
                value = f"{number}:{who}:{each}".encode().ljust(self.random.randint(10, 120), b".")
                producer.produce(
                    topic,
                    key=f"key-{self.random.randrange(6)}",
                    value=value,
                    partition=self.random.randrange(PARTITIONS),
                    on_delivery=self._delivered,
                )
                if self.random.random() < 0.3:
                    producer.flush()
        for producer in self.producers:
            assert producer.flush(10) == 0

    def _delivered(self, error: object, message: object) -> None:
        assert error is None, error
        self.mark(self._stored(message))

    def _stored(self, message) -> Stored:
        topic = message.topic()
        place = (topic, self.generations[topic], message.partition(), message.offset())
        return Stored(*place, message.key(), message.value())

    def _consume(self) -> None:
        """Read on, up to the end of the topic."""
        consumer = self.consumers[GROUPS[0]]
        places = [TopicPartition("orders", each) for each in range(PARTITIONS)]
        ends = {each.partition: consumer.get_watermark_offsets(each)[1] for each in places}
        while any(self.positions[each] < end for each, end in ends.items()):
            message = consumer.poll(10)
            assert message is not None
            assert message.error() is None
            self.mark(self._stored(message))
            self.positions[message.partition()] = message.offset() + 1

    def _commit(self, number: int) -> None:
        for group, consumer in self.consumers.items():
            for partition in range(PARTITIONS):
                key = ("committed", group, str(partition))
                self._say(key, number, is_done=False)
                consumer.commit(
                    offsets=[TopicPartition("orders", partition, number)], asynchronous=False
                )
                self._say(key, number, is_done=True)

    def _trim(self, number: int) -> None:
        offset = number
        self._say(("start", "orders"), offset, is_done=False)
        for each in self.admin.delete_records([TopicPartition("orders", 0, offset)]).values():
            each.result()
        self._say(("start", "orders"), offset, is_done=True)

    def _configure(self, number: int) -> None:
        configs = SMALL | {"retention.bytes": str(100_000 + number)}
        self._say(("configs", "orders"), configs, is_done=False)

        async def configure() -> None:
            topics = self.broker.embedded.topics
            topic = topics.get("orders")
            assert topic is not None
            before = topic.record
            assert await topics.change(topic, before, replace(before, configs=configs))

        self.broker.call(configure)
        self._say(("configs", "orders"), configs, is_done=True)


def allowed(marks: list[object], key: tuple[str, ...], nothing: object = None) -> list[object]:
    """Return the values that may be found: the last one answered, or any asked for since."""
    values = [nothing]
    for each in marks:
        if isinstance(each, Said) and each.key == key:
            values = [each.value] if each.is_done else [*values, each.value]
    return values


def check_broker(left: Path, disk: RecordingDisk, marks: list[object]) -> int:
    """Start a broker on what is left and assert every promise; returns how many records it looked for."""

    async def run() -> int:
        settings = BrokerSettings(data=str(left / DATA))
        broker = EmbeddedBroker(settings, disk, SettableClock(1_700_000_000_000))
        await broker.start()
        try:
            return await _check(broker, marks)
        finally:
            await broker.stop()

    return asyncio.run(run())


async def _check(broker: EmbeddedBroker, marks: list[object]) -> int:
    for name in ("orders", "table", "fleeting"):
        may_be = allowed(marks, ("topic", name))
        topic = broker.topics.get(name)
        if topic is None:
            assert None in may_be, f"topic {name} is gone"
        else:
            assert may_be != [None], f"topic {name} was deleted and is back"
    orders = broker.topics.get("orders")
    if orders is not None:
        assert dict(orders.configs) in allowed(marks, ("configs", "orders"), SMALL)
        assert orders.partitions[0].log.log_start_offset in allowed(marks, ("start", "orders"), 0)
    _check_offsets(broker, marks)
    checked = 0
    stored = [each for each in marks if isinstance(each, Stored)]
    for topic in broker.topics:
        may_be = allowed(marks, ("topic", topic.name))
        if len(may_be) == 1 and not topic.is_internal:
            mine = [
                each for each in stored if (each.topic, each.generation) == (topic.name, may_be[0])
            ]
            for index, partition in enumerate(topic.partitions):
                here = [each for each in mine if each.partition == index]
                checked += _check_records(
                    partition.log, here, is_compacted="compact" in str(topic.configs)
                )
    await _check_it_goes_on(broker, marks)
    return checked


def _check_offsets(broker: EmbeddedBroker, marks: list[object]) -> None:
    for group in GROUPS:
        found = broker.groups.offsets.of(group)
        for partition in range(PARTITIONS):
            committed = found.get(GroupPartition("orders", partition))
            offset = committed.offset if committed is not None else None
            key = ("committed", group, str(partition))
            assert offset in allowed(marks, key), f"{group} committed something else"


def _check_records(log: PartitionLog, stored: list[Stored], *, is_compacted: bool) -> int:
    assert log.damage == [], f"a power cut was taken for damage: {log.damage[0]}"
    records = {each.offset: each for each in read_all(log)}
    last = {each.key: each.offset for each in records.values()}
    for each in stored:
        found = records.get(each.offset)
        if each.offset < log.log_start_offset:
            continue
        if found is None:
            assert is_compacted, f"{each} is lost"
            assert last.get(each.key, -1) > each.offset, f"{each} is lost"
        else:
            assert (found.key, found.value) == (each.key, each.value)
    values = [each.value for each in records.values() if each.key != NEW]
    assert len(values) == len(set(values)), "a record is there twice"
    return len(stored)


async def _check_it_goes_on(broker: EmbeddedBroker, marks: list[object]) -> None:
    """New records come after everything that anybody has seen; a new topic can be made."""
    for topic in broker.topics:
        may_be = allowed(marks, ("topic", topic.name))
        for index, partition in enumerate(topic.partitions):
            seen = [
                each.offset
                for each in marks
                if isinstance(each, Stored)
                and (each.topic, [each.generation], each.partition) == (topic.name, may_be, index)
            ]
            if not topic.is_internal:
                appended = partition.log.append_own([(NEW, b"new")])
                assert appended.base_offset > max(seen, default=-1), "an offset was given twice"
                await broker.committer.durable(partition)
    await broker.topics.create(f"afterwards-{len(broker.topics)}", 1, {})
