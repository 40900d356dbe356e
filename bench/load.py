"""The load: producers and consumers on confluent-kafka, each run in a process of its own.

Nothing here knows which broker it talks to. Every function can be sent to a process pool.
Payloads are random bytes: virtual disks write zeros several times faster than data.
"""

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

Events = Callable[[int], Iterator[tuple[bytes, bytes]]]

CHUNK = 1000
MAX_QUEUED = 200_000


@dataclass(frozen=True)
class Throughput:
    records: int
    size_bytes: int
    seconds: float
    client_cpu_seconds: float

    @property
    def records_per_second(self) -> float:
        return self.records / self.seconds

    @property
    def mb_per_second(self) -> float:
        return self.records * self.size_bytes / self.seconds / 1e6


def create_topic(bootstrap: str, topic: str, partitions: int) -> None:
    """Create a topic and wait until it has its leaders."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 3})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(30)
    deadline = time.monotonic() + 30
    while len(admin.list_topics(topic, 10).topics[topic].partitions) < partitions:
        assert time.monotonic() < deadline, f"{topic} was not created in time"


def delete_topic(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 3})
    admin.delete_topics([topic])[topic].result(30)


def produce(bootstrap: str, topic: str, records: int, size_bytes: int) -> Throughput:
    """Write records as fast as the broker takes them, acks=all; a lost record is an error."""
    failures: list[KafkaError] = []

    def on_delivery(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            failures.append(error)

    producer = Producer(_producer_settings(bootstrap))
    producer.list_topics(topic, 10)
    chunk = _chunk(size_bytes)
    began, cpu = time.monotonic(), time.process_time()
    for _ in range(records // CHUNK):
        while len(producer) > MAX_QUEUED:
            producer.poll(0.005)
        queued = producer.produce_batch(topic, chunk, on_delivery=on_delivery)
        assert queued == CHUNK, f"the client queued {queued} of {CHUNK} records"
        producer.poll(0)
    assert producer.flush(120) == 0, "records were not acknowledged in time"
    seconds = time.monotonic() - began
    assert not failures, failures[0]
    return Throughput(records, size_bytes, seconds, time.process_time() - cpu)


def fill(bootstrap: str, topic: str, events: Events, count: int) -> int:
    """Write so many events; returns the bytes of their values."""
    producer = Producer(_producer_settings(bootstrap))
    records = events(count)
    size_bytes = 0
    while chunk := [{"key": key, "value": value} for key, value in islice(records, CHUNK)]:
        while len(producer) > MAX_QUEUED:
            producer.poll(0.005)
        queued = producer.produce_batch(topic, chunk)
        assert queued == len(chunk), f"the client queued {queued} of {len(chunk)} records"
        size_bytes += sum(len(each["value"]) for each in chunk)
    assert producer.flush(120) == 0, "records were not acknowledged in time"
    return size_bytes


def produce_in_transactions(
    bootstrap: str, topic: str, transactions: int, size_bytes: int
) -> Throughput:
    """Write one transaction of `CHUNK` records after the other, as one producer does."""
    producer = Producer(
        _producer_settings(bootstrap)
        | {
            "transactional.id": f"bench-{topic}",
            # Every transaction goes to all partitions, not to one for some milliseconds.
            "sticky.partitioning.linger.ms": 0,
        }
    )
    producer.init_transactions(60)
    producer.list_topics(topic, 10)
    chunk = _chunk(size_bytes)
    began, cpu = time.monotonic(), time.process_time()
    for _ in range(transactions):
        producer.begin_transaction()
        queued = producer.produce_batch(topic, chunk)
        assert queued == CHUNK, f"the client queued {queued} of {CHUNK} records"
        # Raises if a record was not acknowledged.
        producer.commit_transaction(60)
    seconds = time.monotonic() - began
    return Throughput(transactions * CHUNK, size_bytes, seconds, time.process_time() - cpu)


def _producer_settings(bootstrap: str) -> dict[str, Any]:
    return {
        "bootstrap.servers": bootstrap,
        "acks": "all",
        "linger.ms": 5,
        "batch.size": 1_000_000,
        "queue.buffering.max.messages": 2 * MAX_QUEUED,
        # Reports of success would cost the client more than the broker.
        "delivery.report.only.error": True,
    }


def _chunk(size_bytes: int) -> list[dict[str, bytes]]:
    return [{"value": os.urandom(size_bytes)} for _ in range(CHUNK)]


def consume(bootstrap: str, topic: str, partitions: int, size_bytes: int) -> Throughput:
    """Read a topic from its beginning to its end."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "bench",
            "enable.auto.commit": False,
            "auto.offset.reset": "earliest",
            "fetch.message.max.bytes": 4_000_000,
            "queued.max.messages.kbytes": 131_072,
            # By default librdkafka pauses for a second when 100,000 records are queued.
            "queued.min.messages": 1_000_000,
            "fetch.queue.backoff.ms": 2,
        }
    )
    owned = [TopicPartition(topic, index, 0) for index in range(partitions)]
    total = sum(consumer.get_watermark_offsets(one, timeout=10)[1] for one in owned)
    consumer.assign(owned)
    # The clock starts with the first record: finding out where to start is not reading.
    seen = len(consumer.consume(num_messages=1, timeout=30))
    began, cpu = time.monotonic(), time.process_time()
    while seen < total:
        messages = consumer.consume(num_messages=min(10_000, total - seen), timeout=30)
        assert messages, f"{seen} of {total} records came, then none for 30 s"
        seen += len(messages)
    seconds = time.monotonic() - began
    cpu = time.process_time() - cpu
    consumer.close()
    return Throughput(total, size_bytes, seconds, cpu)


def latencies_ms(
    bootstrap: str, topic: str, size_bytes: int, rate_per_second: int, seconds: float
) -> list[float]:
    """Milliseconds from produce() to the acknowledgement (acks=all, linger 0), at a fixed rate.

    A record that is due while the client still waits counts from when it was due: a stall is not
    hidden by sending less (coordinated omission).
    """
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 0})
    value = os.urandom(size_bytes)
    samples: list[float] = []
    producer.produce(topic, value)
    producer.flush(30)

    interval = 1 / rate_per_second
    began = time.monotonic()
    for index in range(int(rate_per_second * seconds)):
        due = began + index * interval
        while (wait := due - time.monotonic()) > 0:
            producer.poll(wait)

        def on_delivery(error: KafkaError | None, _message: Message, due: float = due) -> None:
            assert error is None, error
            samples.append((time.monotonic() - due) * 1000)

        producer.produce(topic, value, on_delivery=on_delivery)
    assert producer.flush(60) == 0, "records were not acknowledged in time"
    return samples
