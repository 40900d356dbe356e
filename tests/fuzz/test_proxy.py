"""Real clients over a bad line: they may fail or retry; what they were told is stored is there, once."""

import logging
from collections import Counter
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer

from fuzz.campaign import seeds
from fuzz.proxy import Harm, Proxy
from headwater.testing import Broker
from rigs.process import free_port

SCENARIOS = {
    "flips": Harm(flip=0.15),
    "cuts": Harm(cut=0.1),
    "repeats": Harm(repeat=0.1),
    "delays and crumbs": Harm(delay=0.2, crumble=0.1),
    "everything": Harm(flip=0.05, cut=0.05, repeat=0.05, delay=0.1, crumble=0.05),
}
TOPIC = "orders"
QUIET = {"log_level": 0, "reconnect.backoff.ms": 5, "reconnect.backoff.max.ms": 50}


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with Proxy(Random(0)) as started:
        yield started


@pytest.fixture
def broker(proxy: Proxy) -> Iterator[Broker]:
    port = free_port()
    proxy.target = ("127.0.0.1", port)
    settings: dict[str, Any] = {"auto_create_topics": False, "max_request_bytes": 4 << 20}
    advertised = f"127.0.0.1:{proxy.port}"
    with Broker(listen=f"127.0.0.1:{port}", advertised=advertised, **settings) as started:
        started.create_topic(TOPIC)
        yield started


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_what_was_acknowledged_is_there_once(
    scenario: str, proxy: Proxy, broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    sent: set[bytes] = set()
    stored: set[bytes] = set()
    for seed in seeds(1):
        proxy._rng.seed(f"{seed} {scenario}")
        proxy.harm = SCENARIOS[scenario]
        consumer = group_consumer(broker)
        producer = new_producer(broker)
        for number in range(400):
            value = b"%d-%d " % (seed, number) + b"x" * 500
            sent.add(value)
            producer = send(producer, broker, value, stored)
            if number % 20 == 0:
                consumer.poll(0)
        producer.poll(0.5)
        proxy.harm = Harm()
        producer.flush(60)
        consumer.close()
    assert proxy.harmed > 0
    errors = [each for each in caplog.records if each.levelno >= logging.ERROR]
    assert not errors, errors[0].exc_text or errors[0].getMessage()

    found = Counter(each.raw_value for each in broker.topic(TOPIC).records(value_format="bytes"))
    assert stored, "nothing came through at all"
    assert stored <= set(found), "an acknowledged record is not there"
    assert set(found) <= sent, "a damaged record was stored"
    assert max(found.values()) == 1, "a record is there twice"
    assert read_through(broker, len(found)) == found


def new_producer(broker: Broker) -> Producer:
    return Producer(
        {
            **QUIET,
            "bootstrap.servers": broker.bootstrap,
            "enable.idempotence": True,
            "linger.ms": 2,
            "batch.num.messages": 20,
            "socket.timeout.ms": 1000,
            "request.timeout.ms": 1000,
            "retry.backoff.ms": 10,
            "message.timeout.ms": 60_000,
        }
    )


def send(producer: Producer, broker: Broker, value: bytes, stored: set[bytes]) -> Producer:
    """Produce one value; a producer that gave up for good is replaced, as an application would."""

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is None:
            stored.add(message.value())

    try:
        producer.produce(TOPIC, value, on_delivery=delivered, partition=0)
        producer.poll(0.001)
    except Exception:  # noqa: BLE001 - whatever the client makes of a bad line
        producer = new_producer(broker)
    return producer


def group_consumer(broker: Broker) -> Consumer:
    consumer = Consumer(
        {
            **QUIET,
            "bootstrap.servers": broker.bootstrap,
            "group.id": "readers",
            "session.timeout.ms": 6000,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([TOPIC])
    return consumer


def read_through(broker: Broker, count: int) -> Counter[bytes]:
    """Read the topic with a client, now that the line is good."""
    consumer = Consumer(
        {
            **QUIET,
            "bootstrap.servers": broker.bootstrap,
            "group.id": "checker",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "check.crcs": True,
        }
    )
    consumer.subscribe([TOPIC])
    found: Counter[bytes] = Counter()
    while found.total() < count:
        for message in consumer.consume(count, timeout=1):
            assert message.error() is None
            found[message.value()] += 1
    consumer.close()
    return found
