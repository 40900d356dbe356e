"""A producer and a consumer over a bad line, as a process: python -m fuzz.proxied_client BOOTSTRAP SEED.

What arrives over such a line may end a client's process (librdkafka has assertions), and must not end the
tests. It prints the number of each record that was acknowledged; after `sent` it waits for a good line.
"""

import sys
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, Message, Producer

TOPIC: Final = "orders"
RECORDS: Final = 400
QUIET: Final[dict[str, Any]] = {
    "log_level": 0,
    "reconnect.backoff.ms": 5,
    "reconnect.backoff.max.ms": 50,
}


def value_of(seed: int, number: int) -> bytes:
    return b"%d-%d " % (seed, number) + b"x" * 500


def new_producer(bootstrap: str) -> Producer:
    return Producer(
        {
            **QUIET,
            "bootstrap.servers": bootstrap,
            "enable.idempotence": True,
            "linger.ms": 2,
            "batch.num.messages": 20,
            "socket.timeout.ms": 1000,
            "request.timeout.ms": 1000,
            "retry.backoff.ms": 10,
            "message.timeout.ms": 60_000,
        }
    )


def new_consumer(bootstrap: str) -> Consumer:
    consumer = Consumer(
        {
            **QUIET,
            "bootstrap.servers": bootstrap,
            "group.id": "readers",
            "session.timeout.ms": 6000,
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe([TOPIC])
    return consumer


def send(producer: Producer, bootstrap: str, seed: int, number: int) -> Producer:
    """Produce one value; a producer that gave up for good is replaced, as an application would."""

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is None:
            say(str(number))

    try:
        producer.produce(TOPIC, value_of(seed, number), on_delivery=delivered, partition=0)
        producer.poll(0.001)
    except Exception:  # noqa: BLE001 - whatever the client makes of a bad line
        producer = new_producer(bootstrap)
    return producer


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> None:
    bootstrap, seed = sys.argv[1], int(sys.argv[2])
    consumer, producer = new_consumer(bootstrap), new_producer(bootstrap)
    for number in range(RECORDS):
        producer = send(producer, bootstrap, seed, number)
        if number % 20 == 0:
            consumer.poll(0)
    producer.poll(0.5)
    say("sent")
    sys.stdin.readline()
    producer.flush(60)
    consumer.close()


if __name__ == "__main__":
    main()
