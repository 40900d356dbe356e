"""Damage in the files of a broker: clients are told, the rest goes on, and no topic is dropped."""

import asyncio
import logging
import shutil
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import TypeVar

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from headwater.broker.broker import Broker as EmbeddedBroker
from headwater.broker.groups.records import TopicPartition as GroupPartition
from headwater.config import BrokerSettings
from headwater.errors import Corruption
from headwater.log.disk import Disk, LocalDisk
from headwater.testing import Broker, SettableClock
from log.batches import read_all

T = TypeVar("T")
TOPICS = ("orders", "payments", "refunds")
METADATA = "__cluster_metadata-0/00000000000000000000.log"
OFFSETS = "__consumer_offsets-0/00000000000000000000.log"
INTERNAL = {"__consumer_offsets", "__transaction_state"}


@pytest.fixture(scope="module", params=["killed", "stopped"])
def data(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a broker with some topics, records and commits leaves, after a crash or a clean stop."""
    kept = tmp_path_factory.mktemp(request.param)
    with Broker(data=kept / "live", auto_create_topics=True) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        for topic in TOPICS:
            for each in range(4):
                producer.produce(topic, f"{topic}-{each}")
                producer.flush()
        for each in range(4):
            commit(broker, "billing", each)
            commit(broker, "search", each)
        if request.param == "killed":
            shutil.copytree(kept / "live", kept / "data")
    if request.param == "stopped":
        shutil.copytree(kept / "live", kept / "data")
    return kept / "data"


def commit(broker: Broker, group: str, offset: int) -> None:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group})
    consumer.commit(offsets=[TopicPartition("orders", 0, offset)], asynchronous=False)
    consumer.close()


def started(
    data: Path, check: Callable[[EmbeddedBroker], Awaitable[T]], disk: Disk | None = None
) -> T:
    async def run() -> T:
        broker = EmbeddedBroker(
            BrokerSettings(data=str(data)), disk or LocalDisk(), SettableClock(1_700_000_000_000)
        )
        await broker.start()
        try:
            return await check(broker)
        finally:
            await broker.stop()

    return asyncio.run(run())


async def names(broker: EmbeddedBroker) -> set[str]:
    return {each.name for each in broker.topics}


def flipped(data: Path, copy: Path, name: str, position: int) -> Path:
    shutil.copytree(data, copy)
    content = bytearray((copy / name).read_bytes())
    content[position] ^= 0x10
    (copy / name).write_bytes(content)
    return copy


def test_damaged_metadata_log_never_drops_a_topic(tmp_path: Path, data: Path) -> None:
    """The broker starts with all topics, or says in one sentence why it does not start."""
    random = Random(8)
    size = (data / METADATA).stat().st_size
    refused = 0
    for number, position in enumerate(random.sample(range(size), 40)):
        copy = flipped(data, tmp_path / str(number), METADATA, position)
        try:
            assert started(copy, names) > set(TOPICS)
        except Corruption as error:
            refused += "__cluster_metadata-0 is damaged" in error.what
    assert refused > 30


def test_shortened_metadata_log_never_drops_a_topic(tmp_path: Path, data: Path) -> None:
    size = (data / METADATA).stat().st_size
    for number, kept in enumerate([*range(0, size, size // 12), size - 1]):
        copy = tmp_path / str(number)
        shutil.copytree(data, copy)
        (copy / METADATA).write_bytes((data / METADATA).read_bytes()[:kept])

        with pytest.raises(Corruption, match="__cluster_metadata-0 is damaged"):
            started(copy, names)
        with pytest.raises(Corruption, match="__cluster_metadata-0 is damaged"):
            started(copy, names)


@pytest.mark.parametrize("lost", [METADATA, "__cluster_metadata-0"])
def test_lost_metadata_log_never_drops_a_topic(tmp_path: Path, data: Path, lost: str) -> None:
    """Without it the broker would begin anew, and remove the files of topics created once more."""
    copy = tmp_path / "copy"
    shutil.copytree(data, copy)
    if (copy / lost).is_dir():
        shutil.rmtree(copy / lost)
    else:
        (copy / lost).unlink()

    for _ in range(2):
        with pytest.raises(Corruption, match="__cluster_metadata-0"):
            started(copy, names)


@pytest.mark.parametrize("written", [b"", bytes(30)])
def test_first_start_that_was_cut_short_refuses_no_later_one(
    tmp_path: Path, written: bytes
) -> None:
    log = tmp_path / METADATA
    log.parent.mkdir()
    log.write_bytes(written)

    assert started(tmp_path, names) == INTERNAL


class DiskOfAnOrdinaryUser(LocalDisk):
    """A new volume has a directory that only root may look into."""

    def names(self, directory: Path) -> list[str]:
        if directory.name == "lost+found":
            raise PermissionError(directory)
        return super().names(directory)


def test_new_volume_with_a_directory_of_root_is_a_data_directory(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir()

    assert started(tmp_path, names, DiskOfAnOrdinaryUser()) == INTERNAL


def test_damaged_cluster_id_is_named(tmp_path: Path, data: Path) -> None:
    copy = flipped(data, tmp_path / "copy", "meta", 20)

    with pytest.raises(Corruption, match="meta is damaged"):
        started(copy, names)


def test_command_line_says_it_in_one_sentence(tmp_path: Path, data: Path) -> None:
    copy = flipped(data, tmp_path / "copy", METADATA, 70)

    serve = [sys.executable, "-m", "headwater", "serve", "--listen", "127.0.0.1:0"]
    ended = subprocess.run(
        [*serve, "--data", copy], capture_output=True, text=True, check=False, timeout=60
    )

    assert ended.returncode == 1
    assert "is damaged" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_damaged_clean_shutdown_file_only_costs_time(tmp_path: Path, data: Path) -> None:
    if not (data / "clean-shutdown").exists():
        pytest.skip("after a crash there is none")
    copy = flipped(data, tmp_path / "copy", "clean-shutdown", 30)

    assert started(copy, names) > set(TOPICS)


def test_damaged_group_offsets_cost_only_themselves(
    tmp_path: Path, data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A group falls back to an earlier commit, never to a later or another one."""

    async def committed(broker: EmbeddedBroker) -> dict[str, int]:
        place = GroupPartition("orders", 0)
        return {
            each: broker.groups.offsets.of(each)[place].offset for each in ("billing", "search")
        }

    random = Random(9)
    size = (data / OFFSETS).stat().st_size
    for number, position in enumerate(random.sample(range(size), 25)):
        copy = flipped(data, tmp_path / str(number), OFFSETS, position)
        caplog.clear()

        found = started(copy, committed)

        assert sorted(found.values()) in ([3, 3], [2, 3]), f"byte {position}: {found}"
        if found != {"billing": 3, "search": 3}:
            assert "damage found" in caplog.text


def test_damaged_record_is_refused_to_readers_and_the_rest_goes_on(
    tmp_path: Path, data: Path, caplog: pytest.LogCaptureFixture
) -> None:
    copy = flipped(data, tmp_path / "copy", "orders-0/00000000000000000000.log", 70)
    with caplog.at_level(logging.ERROR), Broker(data=copy) as broker:
        config = {"bootstrap.servers": broker.bootstrap, "group.id": "reader"}
        consumer = Consumer(config | {"auto.offset.reset": "error"})
        consumer.assign([TopicPartition("orders", 0, 0)])
        message = consumer.poll(10)
        assert message is not None
        assert message.error().code() in (KafkaError._BAD_MSG, 2), "CORRUPT_MESSAGE"
        consumer.assign([TopicPartition("orders", 0, 1)])
        assert [each.value() for each in consumer.consume(3, 10)] == [
            b"orders-1",
            b"orders-2",
            b"orders-3",
        ]
        producer = Producer({"bootstrap.servers": broker.bootstrap})
        producer.produce("orders", "new")
        assert producer.flush(10) == 0
        consumer.close()
    assert "damage found" in caplog.text
    verify = [sys.executable, "-m", "headwater", "log", "verify", copy]
    assert subprocess.run(verify, capture_output=True, check=False).returncode == 1

    async def whole(broker: EmbeddedBroker) -> int:
        topic = broker.topics.get("payments")
        assert topic is not None
        return len(read_all(topic.partitions[0].log))

    assert started(copy, whole) == 4


def test_offsets_of_a_log_that_is_gone_are_not_given_again_after_a_clean_stop(
    tmp_path: Path,
) -> None:
    with Broker(data=tmp_path) as broker:
        broker.create_topic("orders")
        assert produced(broker, b"a") == 0
        broker.kill()
        for each in (tmp_path / "orders-0").glob("*.log"):
            each.unlink()
        broker.start()
        broker.restart()
        assert produced(broker, b"b") == 1


def produced(broker: Broker, value: bytes) -> int:
    offsets: list[int] = []
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    producer.produce("orders", value, on_delivery=lambda _, sent: offsets.append(sent.offset()))
    producer.flush()
    return offsets[0]
