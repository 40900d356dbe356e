"""A Kafka Connect worker (distributed, exactly-once source): a file into a topic, the topic into a file."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest
from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient

from conformance.calls import create_topic, eventually
from conformance.raw import Connection
from rigs.brokers import Broker
from rigs.connect_worker import ConnectWorker
from rigs.process import Unavailable

LINES: Final = 2000
PATIENCE_S: Final = 90
FILE_CONNECTORS: Final = "org.apache.kafka.connect.file.FileStream"


@pytest.fixture
def worker(own_broker: Broker, name: str, tmp_path: Path) -> Iterator[ConnectWorker]:
    with Connection(own_broker.bootstrap) as connection:
        create_topic(connection, f"{name}-lines")
    try:
        started = ConnectWorker(own_broker.bootstrap, name, tmp_path)
    except Unavailable as reason:
        pytest.skip(str(reason))
    with started:
        yield started


class Topic:
    """The committed values of a topic with one partition, as they come."""

    def __init__(self, bootstrap: str, name: str) -> None:
        self.values: list[str] = []
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "lines",
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        self._consumer.assign([TopicPartition(name, 0, 0)])

    def read_until(self, count: int) -> list[str]:
        while len(self.values) < count:
            message = self._consumer.poll(PATIENCE_S)
            assert message is not None, f"{len(self.values)} of {count} lines came, then no more"
            if message.error() is None:
                self.values.append(message.value().decode())
        return self.values


def lines(first: int, count: int = LINES) -> list[str]:
    return [f"line {number}" for number in range(first, first + count)]


def write(file: Path, new: list[str]) -> None:
    with file.open("a") as opened:
        opened.writelines(f"{each}\n" for each in new)


def await_lines(file: Path, last: str) -> list[str]:
    """The lines of a file, once it ends with this one."""

    def found() -> list[str]:
        read = file.read_text().splitlines() if file.exists() else []
        return read if read[-1:] == [last] else []

    return eventually(found, PATIENCE_S)


def test_connect_carries_every_line_from_file_to_topic_to_file_when_its_worker_is_killed(
    worker: ConnectWorker, own_broker: Broker, name: str, tmp_path: Path
):
    source, sink, topic = tmp_path / "source.txt", tmp_path / "sink.txt", f"{name}-lines"
    arrived = Topic(own_broker.bootstrap, topic)

    write(source, lines(0))
    worker.create(
        f"{name}-source",
        {
            "connector.class": f"{FILE_CONNECTORS}SourceConnector",
            "file": str(source),
            "topic": topic,
            "exactly.once.support": "required",
        },
    )
    worker.create(
        f"{name}-sink",
        {
            "connector.class": f"{FILE_CONNECTORS}SinkConnector",
            "file": str(sink),
            "topics": topic,
            "consumer.override.isolation.level": "read_committed",
            "consumer.override.auto.offset.reset": "earliest",
            # A task that was killed is missed sooner.
            "consumer.override.session.timeout.ms": "6000",
        },
    )
    assert arrived.read_until(LINES) == lines(0)
    assert await_lines(sink, lines(0)[-1]) == lines(0)

    write(source, lines(LINES))
    worker.kill()
    write(source, lines(2 * LINES))
    worker.start()

    everything = lines(0, 3 * LINES)
    assert arrived.read_until(3 * LINES) == everything
    # The source is exactly once. The sink writes again what it had not committed, and leaves out nothing.
    assert list(dict.fromkeys(await_lines(sink, everything[-1]))) == everything
    topics = AdminClient({"bootstrap.servers": own_broker.bootstrap}).list_topics().topics
    assert {f"{name}-{each}" for each in ("config", "offset", "status")} <= topics.keys()
