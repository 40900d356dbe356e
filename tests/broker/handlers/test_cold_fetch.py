"""Fetch when nothing is in the page cache: read aside, within the same limits."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from broker.calls import create_topic, fetch, fetch_data, produce
from conformance.batches import batch, records_of
from conformance.raw import Connection
from headwater.log.disk import File, LocalDisk, LocalFile
from headwater.testing import Broker

LARGE = b"x" * 100_000


class ColdFile(LocalFile):
    def read_cached(self, size: int, position: int) -> None:  # noqa: ARG002
        return None


class ColdDisk(LocalDisk):
    def open(self, path: Path) -> File:
        return ColdFile(path)


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(disk=ColdDisk()) as started:
        yield started


@pytest.fixture
def connection(broker: Broker) -> Iterator[Connection]:
    with Connection(broker.bootstrap) as connected:
        yield connected


def values(answer: Any) -> list[bytes | None]:
    return [each.value for each in records_of(answer.records)]


def test_everything_is_read(broker: Broker, connection: Connection) -> None:
    create_topic(broker, "all")
    for number in range(20):
        produce(connection, "all", batch(b"%d" % number, LARGE))
    offset, found = 0, []
    while answered := values(fetch(connection, "all", offset)):
        found += answered
        offset += len(answered)
    assert [each for each in found if each != LARGE] == [b"%d" % number for number in range(20)]


def test_only_the_first_batch_of_an_answer_may_exceed_its_limit(
    broker: Broker, connection: Connection
) -> None:
    create_topic(broker, "limited", partitions=2)
    for partition in (0, 1):
        produce(connection, "limited", batch(LARGE), partition)
    asked = fetch_data("limited", max_bytes=150_000)
    (topic,) = asked["topics"]
    topic["partitions"] = [{**topic["partitions"][0], "partition": each} for each in (0, 1)]
    first, second = connection.request("fetch", 11, **asked).responses[0].partitions
    assert values(first) == [LARGE]
    assert values(second) == []
