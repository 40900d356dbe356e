"""`headwater bench`."""

import uuid
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import click

from headwater.cli.command import command as headwater_command
from headwater.cli.session import Session
from headwater.clock import Clock, SystemClock

if TYPE_CHECKING:
    from headwater.client import Client

_LATENCY_SAMPLES = 200
_LARGEST_BYTES = 1_000_000_000
"""Of librdkafka's message.max.bytes."""


@dataclass(frozen=True, slots=True)
class Measurement:
    what: str
    records: int
    seconds: float
    records_per_second: float
    mb_per_second: float
    p50_ms: float | None = None
    p99_ms: float | None = None


@headwater_command(
    "bench",
    examples=(
        "headwater bench",
        "headwater bench --records 1000000 --size 100 --partitions 8",
        "headwater bench --bootstrap kafka.example:9092 --json",
    ),
)
@click.option("--records", default=100_000, type=click.IntRange(min=1), help="How many (100000).")
@click.option(
    "--size",
    default=1024,
    type=click.IntRange(min=1, max=_LARGEST_BYTES),
    help="Bytes of each (1024).",
)
@click.option("--partitions", default=1, type=click.IntRange(min=1), help="Of its topic (1).")
def command(session: Session, records: int, size: int, partitions: int) -> None:
    """Measure how fast a broker stores and serves records.

    Uses a topic of its own and deletes it at the end. Every write is acknowledged by all replicas.
    """
    topic = f"headwater-bench-{uuid.uuid4().hex[:8]}"
    clock = SystemClock()
    with session.connect() as client:
        client.admin.topics.create(topic, partitions=partitions)
        try:
            measured = [
                _measure_latency(client, topic, size, clock),
                _measure_produce(client, topic, records, size, clock),
                _measure_consume(client, topic, size, clock),
            ]
        finally:
            client.admin.topics.delete(topic)
    session.output.rows(
        ("what", "records", "seconds", "records_per_second", "mb_per_second", "p50_ms", "p99_ms"),
        (asdict(measurement) for measurement in measured),
    )


def _measure_latency(client: "Client", topic: str, size: int, clock: Clock) -> Measurement:
    """One record at a time, each waited for."""
    payload = bytes(size)
    times_ms = []
    started = clock.monotonic_s()
    with client.producer(value_format="bytes", linger_ms=0) as producer:
        producer.send(topic, payload).result()
        for _ in range(_LATENCY_SAMPLES):
            sent = clock.monotonic_s()
            producer.send(topic, payload).result()
            times_ms.append((clock.monotonic_s() - sent) * 1000)
    times_ms.sort()
    return _measurement(
        "send, one by one",
        _LATENCY_SAMPLES + 1,
        size,
        clock.monotonic_s() - started,
        (times_ms[len(times_ms) // 2], times_ms[len(times_ms) * 99 // 100]),
    )


def _measure_produce(
    client: "Client", topic: str, records: int, size: int, clock: Clock
) -> Measurement:
    payload = bytes(size)
    started = clock.monotonic_s()
    with client.producer(value_format="bytes", options={"batch.size": 1_000_000}) as producer:
        for _ in range(records):
            producer.send(topic, payload)
    return _measurement("produce", records, size, clock.monotonic_s() - started)


def _measure_consume(client: "Client", topic: str, size: int, clock: Clock) -> Measurement:
    started = clock.monotonic_s()
    count = 0
    last = started
    with client.consumer(topic, until="end", value_format="bytes") as reader:
        for batch in reader.batches(max_records=10_000, max_wait_s=0.2):
            count += len(batch)
            last = clock.monotonic_s()
    return _measurement("consume", count, size, last - started)


def _measurement(
    what: str,
    records: int,
    size: int,
    seconds: float,
    latency_ms: tuple[float | None, float | None] = (None, None),
) -> Measurement:
    return Measurement(
        what=what,
        records=records,
        seconds=round(seconds, 3),
        records_per_second=round(records / seconds, 1),
        mb_per_second=round(records * size / seconds / 1e6, 2),
        p50_ms=None if latency_ms[0] is None else round(latency_ms[0], 3),
        p99_ms=None if latency_ms[1] is None else round(latency_ms[1], 3),
    )
