"""A disk that is full, broken or slow: refused and said so, nothing acknowledged is lost."""

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from broker.calls import wait_until
from conformance.batches import batch
from conformance.calls import produce
from conformance.calls import read_all as read_topic
from conformance.raw import Connection, ErrorCode
from conformance.transactional import Transactional, committed_values, state_of
from headwater.errors import StorageFailed
from headwater.testing import Broker
from headwater.testing.disk import CrashPoint, Fault, FaultyDisk
from log.batches import read_all

STORAGE_ERROR = KafkaError.KAFKA_STORAGE_ERROR


@pytest.fixture
def disk() -> FaultyDisk:
    return FaultyDisk()


@pytest.fixture
def broker(tmp_path: Path, disk: FaultyDisk) -> Iterator[Broker]:
    with Broker(data=tmp_path / "data", disk=disk) as running:
        yield running


def outcome(broker: Broker, topic: str, value: str, **settings: object) -> int:
    """Send one record, once; returns the offset, or minus the error code."""
    answers: list[int] = []
    config = {"bootstrap.servers": broker.bootstrap, "retries": 0, "linger.ms": 0, "log_level": 0}
    producer = Producer(config | settings)
    producer.produce(
        topic,
        value,
        on_delivery=lambda error, message: answers.append(
            -error.code() if error is not None else message.offset()
        ),
    )
    assert producer.flush(30) == 0
    return answers[0]


def stored(broker: Broker, topic: str) -> list[bytes]:
    consumer = Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": "check", "log_level": 0}
    )
    low, high = consumer.get_watermark_offsets(TopicPartition(topic, 0))
    consumer.assign([TopicPartition(topic, 0, low)])
    found = [each.value() for each in consumer.consume(high - low, 20)] if high > low else []
    consumer.close()
    return found


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("written", [0.0, 0.5, 1.0], ids=["nothing", "half", "all but the answer"])
def test_failed_write_is_refused_and_leaves_nothing_behind(
    disk: FaultyDisk, broker: Broker, error: int, written: float
) -> None:
    assert outcome(broker, "orders", "before") == 0
    disk.inject(Fault("append", error, path="orders-0/*", written=written))

    assert outcome(broker, "orders", "refused") == -STORAGE_ERROR

    disk.heal()
    assert outcome(broker, "orders", "after") == 1
    assert stored(broker, "orders") == [b"before", b"after"]
    broker.restart()
    assert stored(broker, "orders") == [b"before", b"after"]


def test_a_log_that_cannot_be_opened_is_refused_and_hinders_nobody(
    disk: FaultyDisk, broker: Broker
) -> None:
    for topic in ("orders", "clicks"):
        assert outcome(broker, topic, "before") == 0
    broker.restart()
    disk.inject(Fault("open", errno.EMFILE, path="orders-0/*"))
    with Connection(broker.bootstrap) as connection:
        for topic, error in (("orders", ErrorCode.kafka_storage_error), ("clicks", ErrorCode.none)):
            assert produce(connection, topic, batch(b"more")).error_code == error
        disk.heal()
        assert produce(connection, "orders", batch(b"after")).error_code == ErrorCode.none
    assert stored(broker, "orders") == [b"before", b"after"]


def test_idempotent_producer_outlives_a_full_disk_without_doubling_anything(
    disk: FaultyDisk, broker: Broker
) -> None:
    outcome(broker, "orders", "before")
    full = disk.inject(Fault("append", errno.ENOSPC, path="orders-0/*", times=3, written=0.3))
    producer = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True})
    for each in range(20):
        producer.produce("orders", str(each))

    assert producer.flush(30) == 0

    assert full.times == 0
    assert stored(broker, "orders") == [b"before", *(str(each).encode() for each in range(20))]


def test_full_disk_is_logged_once_and_again_when_it_is_full_again(
    disk: FaultyDisk, broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    """An operator who only sees the broker must learn why producers are refused."""
    for expected in (1, 2):
        outcome(broker, "orders", "kept")
        disk.inject(Fault("append", errno.ENOSPC, path="orders-0/*"))
        for _ in range(3):
            assert outcome(broker, "orders", "refused") < 0
        disk.heal()
        assert caplog.text.count("orders-0 could not be written: [Errno 28]") == expected


def test_nothing_is_acknowledged_that_goes_to_a_removed_file(
    tmp_path: Path, broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    """Removed under the broker, a file lives on until it is closed, and takes all that is written."""
    broker.create_topic("empty")
    assert outcome(broker, "orders", "kept") == 0
    (tmp_path / "data").rename(tmp_path / "gone")
    for each in (tmp_path / "gone/orders-0").iterdir():
        each.unlink()

    assert outcome(broker, "orders", "lost") == -STORAGE_ERROR
    assert outcome(broker, "empty", "without a data directory") == -STORAGE_ERROR

    assert "sync failed, partition stopped" in caplog.text
    assert "empty-0 could not be written: [Errno 2]" in caplog.text
    assert not (tmp_path / "data").exists()


def test_disk_that_is_full_at_the_start_is_one_sentence(tmp_path: Path, disk: FaultyDisk) -> None:
    disk.inject(Fault("replace", errno.ENOSPC))
    with pytest.raises(StorageFailed, match=r"cannot start on .*: No space left on device"):
        Broker(data=tmp_path / "new", disk=disk).start()


@pytest.mark.parametrize("operation", ["make_directory", "open", "append", "overwrite"])
def test_new_topic_on_a_full_disk_works_once_there_is_space(
    disk: FaultyDisk, broker: Broker, operation: str
) -> None:
    fault = disk.inject(Fault(operation, errno.ENOSPC, path="orders-0*", times=1))
    disk.inject(Fault(operation, errno.ENOSPC, path="orders-0/*", times=1))

    first = outcome(broker, "orders", "first")

    disk.heal()
    if first < 0 and operation == "overwrite":
        # The sync itself failed: only a restart can tell what is on disk.
        broker.restart()
    assert fault is not None
    assert outcome(broker, "orders", "second") >= 0
    assert stored(broker, "orders")[-1] == b"second"


def test_topic_cannot_be_created_on_a_full_disk_and_can_be_afterwards(
    disk: FaultyDisk, broker: Broker
) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    disk.inject(Fault("append", errno.ENOSPC, path="__cluster_metadata-0/*"))
    with pytest.raises(KafkaException) as refused:
        admin.create_topics([NewTopic("orders", 1)])["orders"].result()
    assert refused.value.args[0].code() == STORAGE_ERROR
    disk.heal()

    admin.create_topics([NewTopic("orders", 1)])["orders"].result()

    broker.restart()
    assert "orders" in admin.list_topics(timeout=10).topics


def test_failed_sync_stops_the_partition_and_is_never_acknowledged(
    disk: FaultyDisk, broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    assert outcome(broker, "orders", "before") == 0
    disk.inject(Fault("sync", errno.EIO, path="orders-0/*", times=1))

    assert outcome(broker, "orders", "unsure") == -STORAGE_ERROR

    assert "sync failed, partition stopped" in caplog.text
    assert outcome(broker, "orders", "refused") == -STORAGE_ERROR, "a later sync proves nothing"
    assert outcome(broker, "orders", "refused", acks=1) == -STORAGE_ERROR
    assert stored(broker, "orders") == [b"before"], "what was not synced was shown"
    assert outcome(broker, "payments", "other") == 0, "other partitions go on"
    broker.restart()
    assert stored(broker, "orders")[0] == b"before"
    assert b"refused" not in stored(broker, "orders")
    assert outcome(broker, "orders", "after") >= 1


@pytest.mark.parametrize("operation", ["sync_directory", "overwrite"])
def test_failure_beside_the_data_sync_is_not_acknowledged_either(
    disk: FaultyDisk, broker: Broker, operation: str
) -> None:
    disk.inject(Fault(operation, errno.EIO, path="orders-0", times=1))
    disk.inject(Fault(operation, errno.EIO, path="orders-0/*", times=1))

    assert outcome(broker, "orders", "unsure") == -STORAGE_ERROR


def test_write_that_cannot_be_undone_stops_the_partition(disk: FaultyDisk, broker: Broker) -> None:
    assert outcome(broker, "orders", "before") == 0
    disk.inject(Fault("append", errno.EIO, path="orders-0/*", times=1, written=0.5))
    disk.inject(Fault("truncate", errno.EIO, path="orders-0/*", times=1))

    assert outcome(broker, "orders", "half") == -STORAGE_ERROR

    assert outcome(broker, "orders", "refused") == -STORAGE_ERROR
    broker.restart()
    assert stored(broker, "orders") == [b"before"]
    assert outcome(broker, "orders", "after") == 1


def test_record_is_not_seen_before_it_is_synced(disk: FaultyDisk, broker: Broker) -> None:
    assert outcome(broker, "orders", "before") == 0

    async def look() -> tuple[int, int, list[bytes | None]]:
        topic = broker.embedded.topics.get("orders")
        assert topic is not None
        log = topic.partitions[0].log
        return log.next_offset, log.high_watermark, [each.value for each in read_all(log)]

    delivered: list[object] = []
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0})
    with disk.holding("sync") as reached:
        producer.produce("orders", "slow", on_delivery=lambda *answer: delivered.append(answer))
        producer.poll(0)
        assert reached.wait(20)
        assert broker.call(look) == (2, 1, [b"before"])
        producer.poll(0)
        assert delivered == [], "acknowledged before the sync"
    assert producer.flush(20) == 0

    assert broker.call(look) == (2, 2, [b"before", b"slow"])


def test_crash_point_leaves_what_a_killed_process_leaves(
    tmp_path: Path, disk: FaultyDisk, broker: Broker
) -> None:
    assert outcome(broker, "orders", "before") == 0
    point = disk.crash_at(CrashPoint("sync", path="orders-0/*"))

    assert outcome(broker, "orders", "unsure") == -STORAGE_ERROR

    assert point.reached.is_set()
    broker.stop()
    assert not (tmp_path / "data/clean-shutdown").exists()
    with Broker(data=tmp_path / "data") as again:
        assert stored(again, "orders") == [b"before", b"unsure"]


@pytest.fixture
def transactional(broker: Broker) -> Iterator[Transactional]:
    """A client with a transaction in two partitions."""
    broker.create_topic("orders")
    broker.create_topic("payments")
    with Connection(broker.bootstrap) as connection:
        producer = Transactional(connection, "app").start()
        producer.send("orders", b"order")
        producer.send("payments", b"payment")
        yield producer


def test_decided_transaction_waits_for_space_for_its_markers(
    disk: FaultyDisk, transactional: Transactional
) -> None:
    disk.inject(Fault("append", errno.ENOSPC, path="payments-0/*"))
    response = transactional.end(commit=True)

    assert response.error_code == ErrorCode.none
    assert state_of(transactional.connection, "app") == "PrepareCommit"
    assert committed_values(transactional.connection, "payments") == []
    disk.heal()
    transactional.await_state("CompleteCommit")
    for topic, value in (("orders", b"order"), ("payments", b"payment")):
        assert committed_values(transactional.connection, topic) == [value]
        assert len(read_topic(transactional.connection, topic)) == 2, (
            "one marker, not one per attempt"
        )


def test_decided_transaction_is_carried_out_after_a_restart_from_a_broken_disk(
    disk: FaultyDisk, broker: Broker, transactional: Transactional
) -> None:
    disk.inject(Fault("sync", errno.EIO, path="payments-0/*"))
    assert transactional.end(commit=True).error_code == ErrorCode.none
    disk.heal()
    broker.kill()
    broker.start()

    with Connection(broker.bootstrap) as connection:
        assert state_of(connection, "app") == "CompleteCommit"
        assert committed_values(connection, "orders") == [b"order"]
        assert committed_values(connection, "payments") == [b"payment"]


def test_transaction_is_not_decided_while_there_is_no_space_to_write_it_down(
    disk: FaultyDisk, transactional: Transactional
) -> None:
    disk.inject(Fault("append", errno.ENOSPC, path="__transaction_state-0/*"))
    assert transactional.end(commit=True).error_code == ErrorCode.not_coordinator
    answer = transactional.produce("orders", transactional.records(b"more", sequence=1))
    assert answer.error_code == ErrorCode.none, "a transaction that is open goes on"
    disk.heal()

    assert state_of(transactional.connection, "app") == "Ongoing"
    transactional.abort()
    assert committed_values(transactional.connection, "orders") == []


def test_broken_transaction_log_stops_transactions_and_nothing_else(
    disk: FaultyDisk, broker: Broker, transactional: Transactional
) -> None:
    disk.inject(Fault("sync", errno.EIO, path="__transaction_state-0/*"))
    assert transactional.end(commit=True).error_code == ErrorCode.not_coordinator
    assert outcome(broker, "other", "plain") == 0
    disk.heal()
    assert transactional.init().error_code != ErrorCode.none
    broker.kill()
    broker.start()

    with Connection(broker.bootstrap) as connection:
        transactional.connection = connection
        outcomes = {tuple(committed_values(connection, each)) for each in ("orders", "payments")}
        # Nobody was told: it may be open or committed, but it is one of both everywhere.
        assert outcomes in ({()}, {(b"order",), (b"payment",)})
        Transactional(connection, "app").start()


def commit(broker: Broker, group: str, topic: str, offset: int) -> None:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group, "log_level": 0})
    consumer.commit(offsets=[TopicPartition(topic, 0, offset)], asynchronous=False)
    consumer.close()


def offsets_of(broker: Broker, group: str) -> list[tuple[str, int]]:
    return [(each.topic, each.partition) for each in broker.embedded.groups.offsets.of(group)]


def delete(broker: Broker, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    admin.delete_topics([topic], request_timeout=30)[topic].result()


def test_topic_made_anew_after_a_crash_in_its_deletion_inherits_no_offsets(
    tmp_path: Path, disk: FaultyDisk
) -> None:
    with Broker(data=tmp_path / "data", disk=disk) as broker:
        broker.create_topic("orders")
        assert outcome(broker, "orders", "a") == 0
        commit(broker, "readers", "orders", 1)
        disk.crash_at(CrashPoint("append", "__consumer_offsets-0/*"))
        with pytest.raises(KafkaException):
            delete(broker, "orders")

    with Broker(data=tmp_path / "data") as broker:
        assert broker.embedded.topics.get("orders") is None
        assert offsets_of(broker, "readers") == []
        broker.create_topic("orders")
        broker.restart()
        assert offsets_of(broker, "readers") == []


def test_topic_deleted_on_a_full_disk_leaves_no_files_and_no_offsets_to_its_successor(
    disk: FaultyDisk, broker: Broker
) -> None:
    broker.create_topic("orders")
    assert outcome(broker, "orders", "a") == 0
    commit(broker, "readers", "orders", 1)
    disk.inject(Fault("append", errno.ENOSPC, "__consumer_offsets-0/*"))
    with pytest.raises(KafkaException):
        delete(broker, "orders")
    wait_until(broker, lambda: not list(broker.data.glob("*.deleted")))
    with pytest.raises(StorageFailed):
        broker.create_topic("orders")

    disk.heal()
    broker.create_topic("orders")

    assert offsets_of(broker, "readers") == []
    assert outcome(broker, "orders", "b") == 0
    broker.restart()
    assert offsets_of(broker, "readers") == []
    assert stored(broker, "orders") == [b"b"]


@pytest.mark.parametrize("is_healed", [True, False])
def test_log_that_cannot_be_recovered_hinders_nobody_and_is_not_forgotten(
    tmp_path: Path, disk: FaultyDisk, is_healed: bool
) -> None:
    with Broker(data=tmp_path / "data") as broker:
        for topic in ("orders", "others"):
            broker.create_topic(topic)
            assert outcome(broker, topic, "a") == 0
        broker.kill()
    disk.inject(Fault("open", errno.EIO, "orders-0/*"))
    with Broker(data=tmp_path / "data", disk=disk) as broker:
        assert outcome(broker, "others", "b") == 1
        assert outcome(broker, "orders", "b") == -STORAGE_ERROR
        if is_healed:
            disk.heal()
            assert outcome(broker, "orders", "b") == 1

    with Broker(data=tmp_path / "data") as broker:
        assert stored(broker, "orders") == ([b"a", b"b"] if is_healed else [b"a"])
        assert stored(broker, "others") == [b"a", b"b"]


def test_start_that_cannot_open_enough_files_is_refused_and_says_so(
    tmp_path: Path, disk: FaultyDisk
) -> None:
    with Broker(data=tmp_path / "data") as broker:
        broker.create_topic("orders")
        assert outcome(broker, "orders", "a") == 0
        broker.kill()
    disk.inject(Fault("open", errno.EMFILE, "orders-0/recovery-point"))

    with pytest.raises(StorageFailed, match="ulimit -n"):
        Broker(data=tmp_path / "data", disk=disk).start()
    with Broker(data=tmp_path / "data") as broker:
        assert stored(broker, "orders") == [b"a"]
