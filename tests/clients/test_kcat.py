"""kcat from Debian: an old librdkafka, which decides by the advertised versions what it may use."""

import json
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from uuid import uuid4

import pytest

from conformance.batches import decode
from conformance.calls import fetch
from conformance.raw import Connection
from rigs.debian import program
from rigs.process import Unavailable


@dataclass(frozen=True)
class Kcat:
    command: list[str]

    def run(self, *arguments: str, stdin: str = "") -> str:
        done = subprocess.run(
            [*self.command, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def consume(self, topic: str, *arguments: str) -> list[str]:
        """Until the end of the topic."""
        return self.run("-C", "-q", "-e", "-t", topic, *arguments).splitlines()


@pytest.fixture(scope="session")
def kcat(bootstrap: str) -> Kcat:
    try:
        return Kcat([*program("kcat", "kcat"), "-b", bootstrap])
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_round_trips_and_is_used(kcat: Kcat, bootstrap: str, topic: str, codec: str):
    lines = [f"line {index} " * 20 for index in range(200)]

    kcat.run("-P", "-t", topic, "-z", codec, stdin="\n".join(lines))

    assert kcat.consume(topic, "-o", "beginning") == lines
    assert codec_in_log(bootstrap, topic) == codec


def test_key_headers_and_format(kcat: Kcat, topic: str):
    kcat.run("-P", "-t", topic, "-K", ":", "-H", "a=1", stdin="k:v")

    assert kcat.consume(topic, "-o", "beginning", "-f", "%k|%s|%h|%o\n") == ["k|v|a=1|0"]


def test_idempotent_producer(kcat: Kcat, topic: str):
    lines = [str(index) for index in range(1000)]

    kcat.run("-P", "-t", topic, "-X", "enable.idempotence=true", stdin="\n".join(lines))

    assert kcat.consume(topic, "-o", "beginning") == lines


def test_offsets_and_seeking(kcat: Kcat, topic: str):
    kcat.run("-P", "-t", topic, stdin="\n".join(str(index) for index in range(10)))

    assert kcat.consume(topic, "-o", "7") == ["7", "8", "9"]
    assert kcat.consume(topic, "-o", "-2") == ["8", "9"]
    assert kcat.consume(topic, "-o", "beginning", "-c", "3") == ["0", "1", "2"]


def test_offset_of_a_time(kcat: Kcat, topic: str):
    kcat.run("-P", "-t", topic, stdin="a\nb")

    assert kcat.run("-Q", "-t", f"{topic}:0:0").split() == [topic, "[0]", "offset", "0"]


def test_metadata_as_json(kcat: Kcat, bootstrap: str, new_topic: Callable[[int], str]):
    topic = new_topic(3)

    listed = json.loads(kcat.run("-L", "-J", "-t", topic))

    assert [broker["name"] for broker in listed["brokers"]] == [bootstrap]
    assert [len(found["partitions"]) for found in listed["topics"]] == [3]


def test_balanced_group(kcat: Kcat, new_topic: Callable[[int], str]):
    topic, group = new_topic(3), f"clients-{uuid4().hex[:12]}"
    lines = [str(index) for index in range(30)]
    kcat.run("-P", "-t", topic, stdin="\n".join(lines))

    read = kcat.run("-q", "-e", "-X", "auto.offset.reset=earliest", "-G", group, topic)

    assert sorted(read.splitlines()) == sorted(lines)


def test_topic_is_created_by_producing(kcat: Kcat):
    topic = f"clients-{uuid4().hex[:12]}"

    kcat.run("-P", "-t", topic, stdin="first")

    assert kcat.consume(topic, "-o", "beginning") == ["first"]


def codec_in_log(bootstrap: str, topic: str) -> str:
    """Look into the log: when kcat falls back to no compression (KAFKA-18659) it says nothing."""
    with Connection(bootstrap) as connection:
        return decode(fetch(connection, topic, 0).records)[0].codec.name
