"""Fetch when nothing is in the page cache: read aside, within the same limits."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from broker.calls import create_topic, fetch, fetch_data, produce
from conformance.batches import batch, records_of
from conformance.raw import Connection
from conformance.transactional import NEW, Transactional, committed_fetch
from headwater.log.disk import Buffer, File, LocalDisk, LocalFile
from headwater.testing import Broker

LARGE = b"x" * 100_000


class ColdDisk(LocalDisk):
    """Nothing is in the page cache; a test may have something done during the next read."""

    def __init__(self) -> None:
        super().__init__()
        self.do_during_read: Callable[[], object] | None = None

    def open(self, path: Path, *, create: bool = True) -> File:
        del create
        return ColdFile(path, self)


class ColdFile(LocalFile):
    def __init__(self, path: Path, disk: ColdDisk) -> None:
        super().__init__(path)
        self._disk = disk

    def read_cached(self, size: int, position: int) -> None:  # noqa: ARG002
        return None

    def read(self, size: int, position: int) -> Buffer:
        do, self._disk.do_during_read = self._disk.do_during_read, None
        if do is not None:
            do()
        return super().read(size, position)


@pytest.fixture(scope="module")
def disk() -> ColdDisk:
    return ColdDisk()


@pytest.fixture(scope="module")
def broker(disk: ColdDisk) -> Iterator[Broker]:
    with Broker(disk=disk) as started:
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


def test_an_answer_tells_of_no_more_than_was_looked_at(
    broker: Broker, disk: ColdDisk, connection: Connection
) -> None:
    create_topic(broker, "moving")
    produce(connection, "moving", batch(b"plain"))
    with Connection(broker.bootstrap) as beside:
        transaction = Transactional(beside, "x", NEW).start()
        transaction.send("moving", b"in a transaction")

        def commit() -> None:
            transaction.commit()
            transaction.await_state("CompleteCommit")

        disk.do_during_read = commit
        answer = committed_fetch(connection, "moving")
    assert disk.do_during_read is None
    assert values(answer) == [b"plain"]
    assert (answer.last_stable_offset, answer.high_watermark) == (1, 2)
    assert committed_fetch(connection, "moving").last_stable_offset == 3
