"""Readers of the workload: live ones beside the writers, and final ones when all is over.

A reader knows that it is at the end by the last values, one in each partition.
"""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Final

import aiokafka
import kafka
from confluent_kafka import Consumer, TopicPartition

from histories.history import Isolation, Partition, Reading, Record
from histories.topics import ALL

PATIENCE_S: Final = 30


class Collector:
    """Keeps what a reader is given, until it was given all the last values or there is no time left."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self._values: set[str] = set()
        self._last_values: set[str] | None = None
        self._deadline = 0.0

    def expect(self, last_values: set[str], within_s: float = PATIENCE_S) -> None:
        self._deadline = time.monotonic() + within_s
        self._last_values = last_values

    @property
    def is_over(self) -> bool:
        if self._last_values is None:
            return False
        return self._last_values <= self._values or time.monotonic() > self._deadline

    def take(self, partition: Partition, offset: int, value: bytes) -> None:
        self.records.append(Record(partition, offset, value.decode(), time.monotonic()))
        self._values.add(self.records[-1].value)


def read_with_confluent(bootstrap: str, isolation: Isolation, collector: Collector) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "readers",
            "isolation.level": isolation,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
        }
    )
    consumer.assign([TopicPartition(*each, 0) for each in ALL])
    while not collector.is_over:
        for each in consumer.consume(500, 0.1):
            if each.error() is None:
                collector.take((each.topic(), each.partition()), each.offset(), each.value())
    consumer.close()


def read_with_kafka_python(bootstrap: str, isolation: Isolation, collector: Collector) -> None:
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=bootstrap, isolation_level=isolation, auto_offset_reset="earliest"
    )
    consumer.assign([kafka.TopicPartition(*each) for each in ALL])
    while not collector.is_over:
        for place, records in consumer.poll(timeout_ms=100).items():
            for each in records:
                collector.take((place.topic, place.partition), each.offset, each.value)
    consumer.close()


def read_with_aiokafka(bootstrap: str, isolation: Isolation, collector: Collector) -> None:
    async def read() -> None:
        consumer = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=bootstrap, isolation_level=isolation, auto_offset_reset="earliest"
        )
        await consumer.start()
        consumer.assign([aiokafka.TopicPartition(*each) for each in ALL])
        while not collector.is_over:
            for place, records in (await consumer.getmany(timeout_ms=100)).items():
                for each in records:
                    collector.take((place.topic, place.partition), each.offset, each.value)
        await consumer.stop()

    asyncio.run(read())


READERS: Final[dict[str, Callable[[str, Isolation, Collector], None]]] = {
    "confluent": read_with_confluent,
    "kafka-python": read_with_kafka_python,
    "aiokafka": read_with_aiokafka,
}


class LiveReader:
    """A thread that reads every partition from its beginning, while the broker comes and goes."""

    def __init__(self, bootstrap: str, isolation: Isolation) -> None:
        self.isolation = isolation
        self._collector = Collector()
        arguments = (bootstrap, isolation, self._collector)
        # A daemon: a broker that does not come back must fail the test, not hang it.
        self._thread = threading.Thread(target=read_with_confluent, args=arguments, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def finish(self, last_values: set[str]) -> Reading:
        """Go on to the last values; everything that was read."""
        self._collector.expect(last_values)
        self._thread.join()
        return Reading(f"live {self.isolation}", self.isolation, tuple(self._collector.records))


def final_reading(
    library: str, bootstrap: str, isolation: Isolation, last_values: set[str]
) -> Reading:
    collector = Collector()
    collector.expect(last_values)
    READERS[library](bootstrap, isolation, collector)
    name = f"final {library} {isolation}"
    return Reading(name, isolation, tuple(collector.records), is_final=True)
