"""What the broker keeps of its own: topics by the thousand, ids, and files of what was deleted."""

import asyncio
import gc
from collections.abc import Awaitable, Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from broker.calls import LONG_MS, create_topic, fetch, produce, wait_until
from broker.slow_disk import SlowDisk
from conformance.batches import batch
from conformance.raw import Connection
from headwater.broker.context import RequestContext
from headwater.broker.handlers.fetch import fetch as fetch_handler
from headwater.broker.handlers.list_offsets import list_offsets
from headwater.errors import InvalidRequest
from headwater.log.disk import File, LocalDisk
from headwater.testing import Broker
from headwater.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from headwater.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)

MANY = 40
INVALID_TOPIC = 17


class CountingDisk(LocalDisk):
    def __init__(self) -> None:
        super().__init__()
        self.opened: list[Path] = []

    def open(self, path: Path, *, create: bool = True) -> File:
        self.opened.append(path)
        return super().open(path, create=create)


def test_a_thousand_topics_start_after_a_clean_stop_without_opening_their_logs(
    tmp_path: Path,
) -> None:
    disk = CountingDisk()
    with Broker(data=tmp_path, disk=disk) as broker:
        topics = [
            {"name": f"topic-{number}", "num_partitions": 8, "replication_factor": 1}
            for number in range(1000)
        ]
        with Connection(broker.bootstrap, timeout_s=100) as connection:
            for start in range(0, 1000, 250):
                some = topics[start : start + 250]
                answer = connection.request("create_topics", 7, topics=some, timeout=LONG_MS)
                assert {each.error_code for each in answer.topics} == {0}
            produce(connection, "topic-7", batch(b"kept"), partition=3)
        broker.stop()
        disk.opened.clear()
        broker.start()
        opened = {path.parent.name for path in disk.opened}
        assert not {each for each in opened if each.startswith("topic-")}
        with Connection(broker.bootstrap) as connection:
            answer = connection.request("metadata", 12, topics=None)
            assert sum(len(each.partitions) for each in answer.topics) == 8002
            assert b"kept" in fetch(connection, "topic-7", partition=3).records
        opened = {path.parent.name for path in disk.opened if path.parent.name.startswith("topic")}
        assert opened == {"topic-7-3"}


def test_files_of_a_deleted_topic_go_and_its_name_can_be_used_again(broker: Broker) -> None:
    create_topic(broker, "orders")
    with Connection(broker.bootstrap) as connection:
        produce(connection, "orders", batch(b"old"))
        connection.request("delete_topics", 4, topic_names=["orders"], timeout=LONG_MS)
    create_topic(broker, "orders")
    wait_until(broker, lambda: not list(broker.data.glob("*.deleted")))
    with Connection(broker.bootstrap) as connection:
        assert fetch(connection, "orders").records == b""
        assert produce(connection, "orders", batch(b"new")).base_offset == 0
    broker.kill()
    broker.start()
    with Connection(broker.bootstrap) as connection:
        assert b"new" in fetch(connection, "orders").records


def test_a_deletion_that_a_crash_interrupted_is_finished_at_the_next_start(tmp_path: Path) -> None:
    disk = SlowDisk()
    with Broker(data=tmp_path, disk=disk) as broker:
        create_topic(broker, "orders", partitions=2)
        with Connection(broker.bootstrap) as connection:
            produce(connection, "orders", batch(b"old"))
        topic = broker.embedded.topics.get("orders")
        assert topic is not None
        broker.call(broker.embedded.topics.mark_deleted, topic)
        broker.kill()
        broker.start()
        assert broker.embedded.topics.get("orders") is None
        assert not [each.name for each in tmp_path.iterdir() if each.name.startswith("orders")]
        create_topic(broker, "orders")
        with Connection(broker.bootstrap) as connection:
            assert fetch(connection, "orders").records == b""


@pytest.mark.parametrize("end", ["restart", "kill"])
def test_producer_ids_are_never_given_twice(broker: Broker, end: str) -> None:
    seen: list[int] = []
    for _ in range(3):
        with Connection(broker.bootstrap) as connection:
            given = [connection.request("init_producer_id", 4) for _ in range(20)]
            seen += [each.producer_id for each in given]
        if end == "restart":
            broker.restart()
        else:
            broker.kill()
            broker.start()
    assert len(set(seen)) == len(seen)


def test_the_offsets_topic_is_the_brokers_own(broker: Broker) -> None:
    name = "__consumer_offsets"
    with Connection(broker.bootstrap) as connection:
        (topic,) = connection.request("metadata", 12, topics=[{"name": name}]).topics
        assert topic.is_internal
        assert produce(connection, name, batch(b"x")).error_code == INVALID_TOPIC
        answer = connection.request("delete_topics", 4, topic_names=[name], timeout=LONG_MS)
        assert answer.responses[0].error_code == INVALID_TOPIC
        asked = [{"name": name, "num_partitions": 1, "replication_factor": 1}]
        assert connection.request("create_topics", 7, topics=asked).topics[0].error_code == 36
    assert broker.embedded.topics.get(name) is not None


def test_the_metadata_log_is_no_topic(broker: Broker) -> None:
    name = "__cluster_metadata"
    with Connection(broker.bootstrap) as connection:
        (topic,) = connection.request(
            "metadata", 12, topics=[{"name": name}], allow_auto_topic_creation=True
        ).topics
        assert topic.error_code == 3
        assert produce(connection, name, batch(b"x")).error_code == 3


def test_bad_topic_names_are_refused(broker: Broker) -> None:
    for name in ("", ".", "..", "a/b", "a b", "x" * 250, "ü"):
        with pytest.raises(InvalidRequest):
            broker.create_topic(name)


@pytest.mark.parametrize("end", ["restart", "kill"])
def test_a_topic_with_the_longest_name_can_be_deleted(end: str, tmp_path: Path) -> None:
    name = "a" * 249
    with Broker(data=tmp_path) as broker:
        with Connection(broker.bootstrap) as connection:
            broker.create_topic(name, partitions=11)
            assert produce(connection, name, batch(b"x"), partition=10).error_code == 0
            answer = connection.request("delete_topics", 4, topic_names=[name], timeout=LONG_MS)
            assert answer.responses[0].error_code == 0
        if end == "kill":
            broker.kill()
            broker.start()
        else:
            broker.restart()
        broker.create_topic(name)
        assert broker.topic(name).values() == []


def test_space_of_a_deleted_topic_is_free_once_its_files_are_gone(broker: Broker) -> None:
    create_topic(broker, "orders")
    with Connection(broker.bootstrap) as connection:
        produce(connection, "orders", batch(b"a"))
        assert b"a" in fetch(connection, "orders").records
        gc.disable()  # Whatever holds itself would hold the files.
        try:
            connection.request("delete_topics", 4, topic_names=["orders"], timeout=LONG_MS)
            wait_until(broker, lambda: not list(broker.data.glob("*.deleted")))
            held = [each for each in open_files() if str(broker.data) in each and "deleted" in each]
        finally:
            gc.enable()

    assert held == []


def open_files() -> list[str]:
    return [str(each.readlink()) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]


async def fetch_all(context: RequestContext) -> Any:
    asked = [
        FetchPartition(partition=each, fetch_offset=0, partition_max_bytes=1)
        for each in range(MANY)
    ]
    request = FetchRequest(
        session_epoch=-1, max_bytes=1000, topics=[FetchTopic(topic="t", partitions=asked)]
    )
    return await fetch_handler(request, context)  # type: ignore[misc]


async def list_all(context: RequestContext) -> Any:
    asked = [ListOffsetsPartition(partition_index=each, timestamp=-1) for each in range(MANY)]
    request = ListOffsetsRequest(topics=[ListOffsetsTopic(name="t", partitions=asked)])
    return await list_offsets(request, context)


async def expire(context: RequestContext) -> None:
    await context.broker._housekeeping.expire()


async def compact(context: RequestContext) -> None:
    await context.broker._housekeeping.compact()


@pytest.mark.parametrize("touch_all", [fetch_all, list_all, expire, compact])
def test_others_have_a_turn_while_very_many_logs_are_opened(
    broker: Broker, touch_all: Callable[[RequestContext], Awaitable[Any]]
) -> None:
    create_topic(broker, "t", partitions=MANY)
    with Connection(broker.bootstrap) as connection:
        for each in range(MANY):
            produce(connection, "t", batch(b"x"), partition=each)
    broker.restart()
    topic = broker.embedded.topics.get("t")
    assert topic is not None

    async def run() -> list[int]:
        context = RequestContext(broker.embedded, 11, "client", "127.0.0.1", 1)
        touching = asyncio.ensure_future(touch_all(context))
        opened = [0]
        while not touching.done():
            await asyncio.sleep(0)
            opened.append(sum(each.is_open for each in topic.partitions))
        await touching
        return opened

    opened = broker.call(run)

    assert opened[-1] == MANY
    assert max(after - before for before, after in pairwise(opened)) <= 2
