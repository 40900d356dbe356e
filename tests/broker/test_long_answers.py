"""Answers of several pieces: what happens to the rest once the first bytes are out."""

import errno
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from broker.calls import create_topic, fetch, fetch_data, produce, wait_until
from conformance.batches import batch
from conformance.calls import fetch_fields, partition_to_fetch
from conformance.raw import Connection, ErrorCode, encode
from headwater.broker.context import RequestContext
from headwater.broker.handlers.fetch import fetch as fetch_handler
from headwater.log.disk import Buffer
from headwater.testing import Broker
from headwater.testing.disk import Fault, FaultyDisk, FaultyFile
from headwater.wire.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)

pytestmark = pytest.mark.usefixtures("no_producers_about")

COUNT = 16
RECORDS = batch(os.urandom(500_000))
ONE = len(RECORDS)


class ForgetfulDisk(FaultyDisk):
    """The page cache holds everything, on any machine; nothing from a position on, once it is told so."""

    forgotten_from = 1 << 60


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> ForgetfulDisk:
    disk = ForgetfulDisk()

    def forget(file: FaultyFile, size: int, position: int) -> Buffer | None:
        return None if position >= disk.forgotten_from else file._file.read(size, position)

    monkeypatch.setattr(FaultyFile, "read_cached", forget)
    return disk


@pytest.fixture
def broker(disk: ForgetfulDisk) -> Iterator[Broker]:
    with Broker(disk=disk) as started:
        create_topic(started, "long")
        create_topic(started, "other")
        with Connection(started.bootstrap) as connection:
            produce(connection, "other", batch(b"other"))
            for _ in range(COUNT):
                assert produce(connection, "long", RECORDS).error_code == 0
        yield started


def segment_of(broker: Broker) -> Path:
    topic = broker.embedded.topics.get("long")
    assert topic is not None
    return topic.partitions[0].log.active.path


def others_are_served(broker: Broker) -> bool:
    with Connection(broker.bootstrap) as connection:
        return len(fetch(connection, "other").records) > 0


def test_answer_is_the_same_from_memory_and_from_disk(broker: Broker, disk: ForgetfulDisk) -> None:
    with Connection(broker.bootstrap) as connection:
        warm = fetch(connection, "long").records
        disk.forgotten_from = 2 * ONE
        cold = fetch(connection, "long").records
        assert fetch(connection, "long", offset=COUNT - 1).records

    assert warm == cold == segment_of(broker).read_bytes()


def test_a_disk_that_hangs_in_the_middle_of_an_answer_stops_nobody_else(
    broker: Broker, disk: ForgetfulDisk
) -> None:
    disk.forgotten_from = 2 * ONE
    with Connection(broker.bootstrap) as connection:
        with disk.holding("read") as is_waiting:
            connection.send("fetch", 11, **fetch_data("long"))
            assert is_waiting.wait(30)
            assert others_are_served(broker)
        assert len(connection.receive().responses[0].partitions[0].records) == COUNT * ONE


def test_requests_behind_a_long_answer_are_answered_in_their_order(
    broker: Broker, disk: ForgetfulDisk
) -> None:
    disk.forgotten_from = 2 * ONE
    with Connection(broker.bootstrap) as connection:
        for _ in range(3):
            connection.send("fetch", 11, **fetch_data("long"))
            connection.send("fetch", 11, **fetch_data("other"))
        for _ in range(3):
            assert len(connection.receive().responses[0].partitions[0].records) == COUNT * ONE
            assert len(connection.receive().responses[0].partitions[0].records) < ONE


def test_a_disk_error_in_the_middle_of_an_answer_costs_one_connection(
    broker: Broker, disk: ForgetfulDisk
) -> None:
    disk.forgotten_from = 2 * ONE
    disk.inject(Fault("read", errno.EIO, path="long-0/*"))
    with Connection(broker.bootstrap) as connection:
        connection.send("fetch", 11, **fetch_data("long"))
        with pytest.raises(ConnectionError):
            connection.receive()
    assert others_are_served(broker)
    disk.heal()
    with Connection(broker.bootstrap) as connection:
        assert len(fetch(connection, "long").records) == COUNT * ONE


def test_a_disk_that_cannot_read_one_partition_serves_the_others(
    broker: Broker, disk: ForgetfulDisk, caplog: pytest.LogCaptureFixture
) -> None:
    """A fetch asks for many partitions at once: one of them must not take the connection from all."""
    disk.forgotten_from = 0
    disk.inject(Fault("read", errno.EIO, path="long-0/*"))
    asked = [partition_to_fetch(topic, 0) for topic in ("long", "other")]
    with Connection(broker.bootstrap) as connection:
        for _ in range(2):
            answer = connection.request("fetch", 12, **fetch_fields(*asked))
            assert {each.topic: each.partitions[0].error_code for each in answer.responses} == {
                "long": ErrorCode.kafka_storage_error,
                "other": ErrorCode.none,
            }
    assert caplog.text.count("could not be read: [Errno 5]") == 1


@pytest.mark.parametrize("forgotten_from", [1 << 60, 2 * ONE], ids=["from memory", "from disk"])
def test_damage_in_the_middle_of_an_answer_is_told_when_asked_again(
    broker: Broker, disk: ForgetfulDisk, forgotten_from: int, caplog: pytest.LogCaptureFixture
) -> None:
    damage(broker, offset=7)
    disk.forgotten_from = forgotten_from
    with Connection(broker.bootstrap) as connection:
        connection.send("fetch", 11, **fetch_data("long"))
        with pytest.raises(ConnectionError):
            connection.receive()
    assert caplog.text.count("damage found") == 1
    with Connection(broker.bootstrap) as connection:
        assert len(fetch(connection, "long").records) == 7 * ONE
        assert fetch(connection, "long", offset=7).error_code == ErrorCode.corrupt_message
        behind = fetch(connection, "long", offset=8).records
        assert (int.from_bytes(behind[:8]), len(behind) % ONE) == (8, 0)
    assert caplog.text.count("damage found") == 1


def test_damage_in_a_partition_behind_a_long_one_is_told_when_asked_again(broker: Broker) -> None:
    create_topic(broker, "longer")
    damage(broker, offset=0)
    both = fetch_data("longer", partition_max_bytes=4 * ONE)
    both["topics"] += fetch_data("long")["topics"]
    with Connection(broker.bootstrap) as connection:
        for _ in range(COUNT):
            produce(connection, "longer", RECORDS)
        connection.send("fetch", 11, **both)
        with pytest.raises(ConnectionError):
            connection.receive()
    with Connection(broker.bootstrap) as connection:
        good, bad = (
            each.partitions[0] for each in connection.request("fetch", 11, **both).responses
        )
    assert (good.error_code, len(good.records)) == (ErrorCode.none, 4 * ONE)
    assert (bad.error_code, len(bad.records)) == (ErrorCode.corrupt_message, 0)


def test_partitions_of_a_long_answer_are_all_there(broker: Broker, disk: ForgetfulDisk) -> None:
    everything = fetch_data("long", partition_max_bytes=4 * ONE)
    for name in ("second", "third"):
        create_topic(broker, name)
        everything["topics"] += fetch_data(name, partition_max_bytes=3 * ONE)["topics"]
    with Connection(broker.bootstrap) as connection:
        for _ in range(4):
            produce(connection, "second", RECORDS)
            produce(connection, "third", RECORDS)
        for forgotten_from in (1 << 60, 2 * ONE, 0):
            disk.forgotten_from = forgotten_from
            answers = connection.request("fetch", 11, **everything).responses
            sizes = [len(each.partitions[0].records) // ONE for each in answers]
            # What comes from disk is read a megabyte at a time.
            assert sizes == ([4, 3, 3] if forgotten_from else [2, 2, 2])


def test_what_is_in_memory_is_answered_at_once(broker: Broker, disk: ForgetfulDisk) -> None:
    wanted = FetchPartition(partition=0, partition_max_bytes=ONE)
    topic = FetchTopic(topic="long", partitions=[wanted])
    request = FetchRequest(session_epoch=-1, max_bytes=ONE, min_bytes=1, topics=[topic])

    async def answer() -> object:
        answered = fetch_handler(request, RequestContext(broker.embedded, 11, "", ""))
        if isinstance(answered, FetchResponse):
            return "at once"
        await answered
        return "later"

    assert broker.call(answer) == "at once"
    disk.forgotten_from = 0
    assert broker.call(answer) == "later"


def test_a_real_consumer_gets_what_is_good_and_is_told_where_damage_begins(broker: Broker) -> None:
    damage(broker, offset=7)
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "g", "log_level": 0})
    consumer.assign([TopicPartition("long", 0, 0)])
    offsets, errors = [], []
    while not errors:
        message = consumer.poll(30)
        assert message is not None
        if message.error() is None:
            offsets.append(message.offset())
        elif message.error().code() not in (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN):
            errors.append(message.error().code())
    consumer.close()

    assert offsets == list(range(7))
    assert errors == [KafkaError.INVALID_MSG]


def test_an_aborted_transaction_behind_the_first_piece_is_not_shown(broker: Broker) -> None:
    create_topic(broker, "decided")
    producer = Producer(
        {"bootstrap.servers": broker.bootstrap, "transactional.id": "t", "batch.num.messages": 1}
    )
    producer.init_transactions(30)
    for outcome in ("kept", "kept", "dropped", "kept", "dropped", "kept"):
        producer.begin_transaction()
        for _ in range(3):
            producer.produce("decided", os.urandom(400_000), key=outcome)
        if outcome == "kept":
            producer.commit_transaction(30)
        else:
            producer.flush(30)
            producer.abort_transaction(30)
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap,
            "group.id": "g",
            "fetch.message.max.bytes": 8_000_000,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([TopicPartition("decided", 0, 0)])
    keys = []
    while (message := consumer.poll(30)) is not None and message.error() is None:
        keys.append(message.key())
    consumer.close()

    assert keys == [b"kept"] * 12


def damage(broker: Broker, offset: int) -> None:
    with segment_of(broker).open("r+b") as file:
        file.seek(offset * ONE + ONE // 2)
        byte = file.read(1)[0]
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte ^ 1]))


def test_a_reader_that_leaves_in_the_middle_leaves_nothing_behind(
    broker: Broker, disk: ForgetfulDisk
) -> None:
    request = encode("fetch", 11, 1, fetch_data("long"))
    for forgotten_from in (1 << 60, 2 * ONE):
        disk.forgotten_from = forgotten_from
        with socket.socket() as reader:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            reader.connect(("127.0.0.1", broker.port))
            reader.sendall(struct.pack(">i", len(request)) + request)
            assert reader.recv(4, socket.MSG_WAITALL)
            assert broker.embedded.traffic.outstanding_bytes > ONE
        wait_until(broker, lambda: broker.embedded.traffic.outstanding_bytes == 0)
    assert others_are_served(broker)
