"""The Python clients' transactions, the same scenarios for each: all or nothing, and one owner."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Protocol, TypeVar
from uuid import uuid4

import aiokafka
import kafka
import pytest
from aiokafka.errors import ProducerFenced
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from kafka.errors import KafkaError, ProducerFencedError
from kafka.structs import OffsetAndMetadata

T = TypeVar("T")
COUNT = 60
BATCH = 20


class TransactionalProducer(Protocol):
    fenced: type[Exception]

    def begin(self) -> None: ...

    def send(self, topic: str, *values: bytes) -> None: ...

    def send_offset(self, reader: "Reader", topic: str, offset: int) -> None: ...

    def commit(self) -> None: ...

    def abort(self) -> None: ...

    def close(self) -> None: ...


class Reader(Protocol):
    def read(self, count: int) -> list[bytes]:
        """Return the next values; what comes with the last of them may be more than was asked."""

    def close(self) -> None: ...


class ConfluentProducer:
    fenced = KafkaException

    def __init__(self, bootstrap: str, transactional_id: str) -> None:
        self._client = Producer(
            {"bootstrap.servers": bootstrap, "transactional.id": transactional_id, "log_level": 0}
        )
        self._client.init_transactions(30)

    def begin(self) -> None:
        self._client.begin_transaction()

    def send(self, topic: str, *values: bytes) -> None:
        for each in values:
            self._client.produce(topic, each, partition=0)
        self._client.flush(30)

    def send_offset(self, reader: Any, topic: str, offset: int) -> None:
        metadata = reader.client.consumer_group_metadata()
        offsets = [TopicPartition(topic, 0, offset)]
        self._client.send_offsets_to_transaction(offsets, metadata, 30)

    def commit(self) -> None:
        self._client.commit_transaction(30)

    def abort(self) -> None:
        self._client.abort_transaction(30)

    def close(self) -> None:
        self._client.purge()


class ConfluentReader:
    def __init__(self, bootstrap: str, topic: str, group: str) -> None:
        self.client = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "isolation.level": "read_committed",
                "session.timeout.ms": 6000,
            }
        )
        self.client.subscribe([topic])

    def read(self, count: int) -> list[bytes]:
        values: list[bytes] = []
        while len(values) < count:
            message = self.client.poll(30)
            assert message is not None, f"{len(values)} of {count} values came"
            assert message.error() is None, message.error()
            values.append(message.value())
        return values

    def close(self) -> None:
        self.client.close()


class KafkaPythonProducer:
    fenced = KafkaError

    def __init__(self, bootstrap: str, transactional_id: str) -> None:
        self._client = kafka.KafkaProducer(
            bootstrap_servers=bootstrap, transactional_id=transactional_id
        )
        self._client.init_transactions()

    def begin(self) -> None:
        self._client.begin_transaction()

    def send(self, topic: str, *values: bytes) -> None:
        sent = [self._client.send(topic, each, partition=0) for each in values]
        self._client.flush(30)
        for each in sent:
            each.get(30)

    def send_offset(self, reader: Any, topic: str, offset: int) -> None:
        offsets = {kafka.TopicPartition(topic, 0): OffsetAndMetadata(offset, "", -1)}
        self._client.send_offsets_to_transaction(offsets, reader.client.group_metadata())

    def commit(self) -> None:
        self._client.commit_transaction()

    def abort(self) -> None:
        self._client.abort_transaction()

    def close(self) -> None:
        self._client.close(timeout=5)


class KafkaPythonReader:
    def __init__(self, bootstrap: str, topic: str, group: str) -> None:
        self.client = kafka.KafkaConsumer(
            topic,
            bootstrap_servers=bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            isolation_level="read_committed",
            max_poll_records=BATCH,
            session_timeout_ms=6000,
            heartbeat_interval_ms=500,
        )

    def read(self, count: int) -> list[bytes]:
        values: list[bytes] = []
        while len(values) < count:
            # A shorter poll may end between a rebalance and its assignment, which this client then forgets.
            came = self.client.poll(30_000, max_records=count - len(values))
            assert came, f"{len(values)} of {count} values came"
            for records in came.values():
                values += [each.value for each in records]
        return values

    def close(self) -> None:
        self.client.close(autocommit=False)


class Loop:
    """An event loop for one client, run while it is asked for something."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()

    def run(self, work: Awaitable[T]) -> T:
        async def bounded() -> T:
            async with asyncio.timeout(30):
                return await work

        return self._loop.run_until_complete(bounded())

    def close(self) -> None:
        self._loop.close()


class AiokafkaProducer:
    fenced = ProducerFenced

    def __init__(self, bootstrap: str, transactional_id: str) -> None:
        self._loop = Loop()

        async def start() -> aiokafka.AIOKafkaProducer:
            client = aiokafka.AIOKafkaProducer(
                bootstrap_servers=bootstrap, transactional_id=transactional_id
            )
            await client.start()
            return client

        self._client = self._loop.run(start())

    def begin(self) -> None:
        self._loop.run(self._client.begin_transaction())

    def send(self, topic: str, *values: bytes) -> None:
        async def send() -> None:
            sent = [await self._client.send(topic, each, partition=0) for each in values]
            await asyncio.gather(*sent)

        self._loop.run(send())

    def send_offset(self, reader: Any, topic: str, offset: int) -> None:
        offsets = {aiokafka.TopicPartition(topic, 0): offset}
        self._loop.run(self._client.send_offsets_to_transaction(offsets, reader.group))

    def commit(self) -> None:
        self._loop.run(self._client.commit_transaction())

    def abort(self) -> None:
        self._loop.run(self._client.abort_transaction())

    def close(self) -> None:
        self._loop.run(self._client.stop())
        self._loop.close()


class AiokafkaReader:
    def __init__(self, bootstrap: str, topic: str, group: str) -> None:
        self.group = group
        self._loop = Loop()

        async def start() -> aiokafka.AIOKafkaConsumer:
            client = aiokafka.AIOKafkaConsumer(
                topic,
                bootstrap_servers=bootstrap,
                group_id=group,
                auto_offset_reset="earliest",
                enable_auto_commit=False,
                isolation_level="read_committed",
            )
            await client.start()
            return client

        self.client = self._loop.run(start())

    def read(self, count: int) -> list[bytes]:
        async def read() -> list[bytes]:
            return [(await self.client.getone()).value for _ in range(count)]

        return self._loop.run(read())

    def close(self) -> None:
        self._loop.run(self.client.stop())
        self._loop.close()


class Kit:
    """One client library: its producers and readers, closed at the end of the test."""

    def __init__(self, bootstrap: str, name: str, stack: ExitStack) -> None:
        self._bootstrap = bootstrap
        self._stack = stack
        self._producer: Callable[[str, str], TransactionalProducer]
        self._reader: Callable[[str, str, str], Reader]
        self._producer, self._reader = {
            "confluent-kafka": (ConfluentProducer, ConfluentReader),
            "kafka-python": (KafkaPythonProducer, KafkaPythonReader),
            "aiokafka": (AiokafkaProducer, AiokafkaReader),
        }[name]

    def producer(self, transactional_id: str) -> TransactionalProducer:
        client = self._producer(self._bootstrap, transactional_id)
        self._stack.callback(client.close)
        return client

    @contextmanager
    def reading(self, topic: str, group: str) -> Iterator[Reader]:
        client = self._reader(self._bootstrap, topic, group)
        try:
            yield client
        finally:
            client.close()

    def values(self, topic: str, count: int) -> list[bytes]:
        with self.reading(topic, f"values-{uuid4().hex[:12]}") as reader:
            return reader.read(count)


@pytest.fixture(params=["confluent-kafka", "kafka-python", "aiokafka"])
def kit(request: pytest.FixtureRequest, bootstrap: str) -> Iterator[Kit]:
    with ExitStack() as stack:
        yield Kit(bootstrap, request.param, stack)


def numbers(start: int, end: int) -> list[bytes]:
    return [b"%d" % each for each in range(start, end)]


def test_committed_records_are_read_and_aborted_ones_are_not(kit: Kit, topic: str, name: str):
    producer = kit.producer(name)
    for start in range(0, COUNT, BATCH):
        producer.begin()
        producer.send(topic, *(b"never" for _ in range(5)))
        producer.abort()
        producer.begin()
        producer.send(topic, *numbers(start, start + BATCH))
        producer.commit()

    assert kit.values(topic, COUNT) == numbers(0, COUNT)


def test_open_transaction_is_read_only_when_it_is_committed(kit: Kit, topic: str, name: str):
    slow, quick = kit.producer(f"{name}-slow"), kit.producer(f"{name}-quick")
    slow.begin()
    slow.send(topic, b"slow")
    quick.begin()
    quick.send(topic, b"quick")
    quick.commit()
    slow.commit()

    assert kit.values(topic, 2) == [b"slow", b"quick"]


def test_consume_transform_produce_is_exactly_once(
    kit: Kit, new_topic: Callable[[int], str], name: str
):
    source, target, group = new_topic(1), new_topic(1), f"{name}-group"
    feeder = kit.producer(f"{name}-feeder")
    feeder.begin()
    feeder.send(source, *numbers(0, COUNT))
    feeder.commit()
    worker = kit.producer(f"{name}-worker")
    for start in range(0, COUNT, BATCH):
        for is_good in (False, True):
            # The position comes from the group alone: an aborted attempt is read again from the start.
            with kit.reading(source, group) as reader:
                values = reader.read(BATCH)
                assert values == numbers(start, start + BATCH)
                worker.begin()
                worker.send(target, *(each + b"!" for each in values))
                worker.send_offset(reader, source, start + BATCH)
                worker.commit() if is_good else worker.abort()

    assert kit.values(target, COUNT) == [each + b"!" for each in numbers(0, COUNT)]


def test_zombie_is_fenced(kit: Kit, topic: str, name: str):
    zombie = kit.producer(name)
    zombie.begin()
    zombie.send(topic, b"zombie")
    successor = kit.producer(name)
    successor.begin()
    successor.send(topic, b"successor")

    with pytest.raises((zombie.fenced, ProducerFencedError)):
        zombie.commit()

    successor.commit()
    assert kit.values(topic, 1) == [b"successor"]
