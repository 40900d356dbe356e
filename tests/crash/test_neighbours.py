"""What happens to one topic stays with it: failures, damage, and files of topics long gone."""

from dataclasses import replace
from pathlib import Path

import pytest

from broker.calls import produce
from conformance.batches import batch
from conformance.raw import Connection
from headwater.broker.partition import Partition
from headwater.broker.topics import Topic
from headwater.errors import NotFound
from headwater.log.partition import PartitionLog
from headwater.testing import Broker
from log.batches import read_all

COMPACT = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", "segment.bytes": "500"}


async def fill(broker: Broker, topic: Topic, count: int = 20) -> PartitionLog:
    log = topic.partitions[0].log
    for each in range(count):
        log.append_own([(b"key", str(each).encode() * 20)])
        await broker.embedded.committer.durable(topic.partitions[0])
    return log


def test_damaged_topic_does_not_keep_others_from_being_compacted(tmp_path: Path) -> None:
    with Broker(data=tmp_path / "data") as broker:

        async def run() -> tuple[int, int]:
            topics = broker.embedded.topics
            damaged = await fill(broker, await topics.create("a-damaged", 1, COMPACT))
            sound = await fill(broker, await topics.create("b-sound", 1, COMPACT))
            path = damaged.segments[0].path
            data = bytearray(path.read_bytes())
            data[70] ^= 1
            path.write_bytes(data)
            await broker.embedded._housekeeping.compact()
            return damaged.size_bytes, sound.size_bytes

        damaged, sound = broker.call(run)

    assert sound < damaged


def test_topic_can_be_made_anew_over_files_that_a_power_cut_brought_back(tmp_path: Path) -> None:
    """Deleted, its files back after a power cut, a clean restart, then created again."""
    with Broker(data=tmp_path / "data") as broker:

        async def first() -> None:
            await fill(broker, await broker.embedded.topics.create("orders", 1, {}))

        broker.call(first)
        saved = {each.name: each.read_bytes() for each in (tmp_path / "data/orders-0").iterdir()}

        async def delete() -> None:
            topic = broker.embedded.topics.get("orders")
            assert topic is not None
            await broker.embedded.delete_topic(topic)
            await broker.embedded._finish_deletion("orders")

        broker.call(delete)
        broker.stop()
        (tmp_path / "data/orders-0").mkdir()
        for name, content in saved.items():
            (tmp_path / "data/orders-0" / name).write_bytes(content)
        broker.start()
        broker.restart()

        async def second() -> list[int]:
            topic = await broker.embedded.topics.create("orders", 1, {})
            return [each.offset for each in read_all(await fill(broker, topic, 2))]

        assert broker.call(second) == [0, 1]
        broker.restart()

        async def third() -> int:
            topic = broker.embedded.topics.get("orders")
            assert topic is not None
            return len(read_all(topic.partitions[0].log))

        assert broker.call(third) == 2


def test_topic_deleted_while_its_segments_are_removed_leaves_its_successor_alone(
    tmp_path: Path,
) -> None:
    with Broker(data=tmp_path / "data") as broker:

        async def run() -> list[int]:
            embedded = broker.embedded
            settings = {"segment.bytes": "500"}
            old = await embedded.topics.create("orders", 1, settings)
            removal = (await fill(broker, old)).advance_start(15)
            await embedded.delete_topic(old)
            new = await embedded.topics.create("orders", 1, settings)
            log = await fill(broker, new, 5)
            broker.embedded.run_in_background(_on_thread(broker, removal.run))
            await broker.embedded.read_on_thread(lambda: None)
            log.settings = replace(log.settings, retention_ms=1)
            return [each.offset for each in read_all(log)]

        assert broker.call(run) == [0, 1, 2, 3, 4]
        broker.restart()

        async def again() -> int:
            topic = broker.embedded.topics.get("orders")
            assert topic is not None
            return len(read_all(topic.partitions[0].log))

        assert broker.call(again) == 5


async def _on_thread(broker: Broker, work: object) -> None:
    await broker.embedded.read_on_thread(work)  # type: ignore[arg-type]


def test_who_holds_on_to_a_deleted_topic_leaves_its_successor_alone(tmp_path: Path) -> None:
    with Broker(data=tmp_path) as broker:
        broker.kill()
        broker.start()  # What a partition holds is not known from a clean shutdown.
        broker.create_topic("orders")
        topic = broker.embedded.topics.get("orders")
        assert topic is not None
        broker.call(broker.embedded.delete_topic, topic)
        broker.create_topic("orders")
        with Connection(broker.bootstrap) as connection:
            assert produce(connection, "orders", batch(b"a")).error_code == 0
            with pytest.raises(NotFound):
                broker.call(_opened, topic.partitions[0])
            assert produce(connection, "orders", batch(b"b")).error_code == 0

        broker.restart()
        assert broker.topic("orders").values(value_format="bytes") == [b"a", b"b"]


async def _opened(partition: Partition) -> PartitionLog:
    return partition.log
