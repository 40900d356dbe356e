"""A Kafka Streams application, exactly once, that is killed, as is its broker: `java/WordCount.java`."""

import struct
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Final

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from conformance.calls import create_topic
from conformance.raw import Connection
from rigs.brokers import Broker
from rigs.java_process import JavaProcess
from rigs.kafka_ecosystem import streams_libs
from rigs.maven import compiled
from rigs.process import Unavailable

SOURCE: Final = Path(__file__).parent / "java" / "WordCount.java"
PARTITIONS: Final = 2
WORDS: Final = [f"word-{number}" for number in range(50)]
WORDS_PER_LINE: Final = 5
PATIENCE_S: Final = 90


@pytest.fixture
def application(own_broker: Broker, name: str, tmp_path: Path) -> Iterator[JavaProcess]:
    try:
        classpath = compiled(SOURCE, streams_libs())
    except Unavailable as reason:
        pytest.skip(str(reason))
    with Connection(own_broker.bootstrap) as connection:
        create_topic(connection, f"{name}-lines", PARTITIONS)
        create_topic(connection, f"{name}-counts", PARTITIONS)
    arguments = [own_broker.bootstrap, name, str(tmp_path / "state")]
    with JavaProcess(classpath, [SOURCE.stem, *arguments], tmp_path / "application.log") as process:
        yield process


class Lines:
    """What goes into the application, and what has to come out of it."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.counts: dict[str, int] = defaultdict(int)
        self.words = 0
        self._topic = topic
        self._random = Random(1)
        self._producer = Producer(
            {"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0}
        )

    def write(self, lines: int) -> None:
        for number in range(lines):
            words = self._random.choices(WORDS, k=WORDS_PER_LINE)
            for each in words:
                self.counts[each] += 1
            self._producer.produce(self._topic, " ".join(words), key=str(number))
        assert self._producer.flush(PATIENCE_S) == 0
        self.words += lines * WORDS_PER_LINE


class Counts:
    """The counts that the application has committed, word by word, in their order."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.by_word: dict[str, list[int]] = defaultdict(list)
        self.total = 0
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "counts",
                "isolation.level": "read_committed",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "log_level": 0,
            }
        )
        self._consumer.assign([TopicPartition(topic, each, 0) for each in range(PARTITIONS)])

    def read_until(self, total: int, application: JavaProcess) -> None:
        waited_s = 0.0
        while self.total < total:
            message = self._consumer.poll(1)
            if message is None or message.error() is not None:
                application.check()
                waited_s += 1
                assert waited_s < PATIENCE_S, f"{self.total} of {total} counts came, then no more"
                continue
            waited_s = 0
            (count,) = struct.unpack(">q", message.value())
            self.by_word[message.key().decode()].append(count)
            self.total += 1


def test_streams_application_counts_every_word_once_when_it_and_the_broker_are_killed(
    application: JavaProcess, own_broker: Broker, name: str
):
    bootstrap = own_broker.bootstrap
    lines, counts = Lines(bootstrap, f"{name}-lines"), Counts(bootstrap, f"{name}-counts")

    lines.write(1000)
    counts.read_until(500, application)
    lines.write(1000)
    application.kill()
    application.start()
    counts.read_until(lines.words // 2, application)
    lines.write(1000)
    own_broker.kill()
    own_broker.restart()
    counts.read_until(lines.words, application)
    # What it might still write it writes now.
    application.stop()

    everything = Counts(bootstrap, f"{name}-counts")
    everything.read_until(lines.words, application)
    expected = {word: list(range(1, count + 1)) for word, count in lines.counts.items()}
    assert counts.by_word == expected
    assert everything.by_word == expected
    internal = {f"{name}-words-repartition", f"{name}-counts-changelog"}
    assert internal <= AdminClient({"bootstrap.servers": bootstrap}).list_topics().topics.keys()
