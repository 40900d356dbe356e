"""kcat from Debian: an old librdkafka, which decides by the advertised versions what it may use."""

import json
import shutil
import subprocess
from collections.abc import Callable
from uuid import uuid4

import pytest

from conformance.batches import decode
from conformance.calls import fetch
from conformance.raw import Connection

pytestmark = pytest.mark.skipif(shutil.which("kcat") is None, reason="kcat is not on PATH")


def kcat(bootstrap: str, *arguments: str, stdin: str = "") -> str:
    done = subprocess.run(
        ["kcat", "-b", bootstrap, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def consume(bootstrap: str, topic: str, *arguments: str) -> list[str]:
    """From the beginning to the end of the topic."""
    return kcat(bootstrap, "-C", "-q", "-e", "-t", topic, *arguments).splitlines()


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_round_trips_and_is_used(bootstrap: str, topic: str, codec: str):
    lines = [f"line {index} " * 20 for index in range(200)]

    kcat(bootstrap, "-P", "-t", topic, "-z", codec, stdin="\n".join(lines))

    assert consume(bootstrap, topic, "-o", "beginning") == lines
    assert codec_in_log(bootstrap, topic) == codec


def test_key_headers_and_format(bootstrap: str, topic: str):
    kcat(bootstrap, "-P", "-t", topic, "-K", ":", "-H", "a=1", stdin="k:v")

    assert consume(bootstrap, topic, "-o", "beginning", "-f", "%k|%s|%h|%o\n") == ["k|v|a=1|0"]


def test_idempotent_producer(bootstrap: str, topic: str):
    lines = [str(index) for index in range(1000)]

    kcat(bootstrap, "-P", "-t", topic, "-X", "enable.idempotence=true", stdin="\n".join(lines))

    assert consume(bootstrap, topic, "-o", "beginning") == lines


def test_offsets_and_seeking(bootstrap: str, topic: str):
    kcat(bootstrap, "-P", "-t", topic, stdin="\n".join(str(index) for index in range(10)))

    assert consume(bootstrap, topic, "-o", "7") == ["7", "8", "9"]
    assert consume(bootstrap, topic, "-o", "-2") == ["8", "9"]
    assert consume(bootstrap, topic, "-o", "beginning", "-c", "3") == ["0", "1", "2"]


def test_offset_of_a_time(bootstrap: str, topic: str):
    kcat(bootstrap, "-P", "-t", topic, stdin="a\nb")

    assert kcat(bootstrap, "-Q", "-t", f"{topic}:0:0").split() == [topic, "[0]", "offset", "0"]


def test_metadata_as_json(bootstrap: str, new_topic: Callable[[int], str]):
    topic = new_topic(3)

    listed = json.loads(kcat(bootstrap, "-L", "-J", "-t", topic))

    assert [broker["name"] for broker in listed["brokers"]] == [bootstrap]
    assert [len(found["partitions"]) for found in listed["topics"]] == [3]


def test_balanced_group(bootstrap: str, new_topic: Callable[[int], str]):
    topic, group = new_topic(3), f"clients-{uuid4().hex[:12]}"
    lines = [str(index) for index in range(30)]
    kcat(bootstrap, "-P", "-t", topic, stdin="\n".join(lines))

    read = kcat(bootstrap, "-q", "-e", "-X", "auto.offset.reset=earliest", "-G", group, topic)

    assert sorted(read.splitlines()) == sorted(lines)


def test_topic_is_created_by_producing(bootstrap: str):
    topic = f"clients-{uuid4().hex[:12]}"

    kcat(bootstrap, "-P", "-t", topic, stdin="first")

    assert consume(bootstrap, topic, "-o", "beginning") == ["first"]


def codec_in_log(bootstrap: str, topic: str) -> str:
    """Look into the log: when kcat falls back to no compression (KAFKA-18659) it says nothing."""
    with Connection(bootstrap) as connection:
        return decode(fetch(connection, topic, 0).records)[0].codec.name
