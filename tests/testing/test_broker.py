"""The broker for users' tests: what they would do with it, and what they would get wrong."""

import json
import logging
import threading
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

import headwater as hw
from headwater.errors import Conflict, InvalidRequest, NotFound, Unavailable, UnreadableValue
from headwater.testing import Broker, SettableClock


def send(broker: Broker, topic: str, *values: object, key: str | None = None) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0})
    for value in values:
        data = value if isinstance(value, bytes) else json.dumps(value).encode()
        producer.produce(topic, data, key=key)
    assert producer.flush(30) == 0


def test_any_client_can_use_it() -> None:
    with Broker() as broker:
        send(broker, "orders", {"id": 7}, {"id": 8})
        consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap,
                "group.id": "billing",
                "auto.offset.reset": "earliest",
            }
        )
        consumer.subscribe(["orders"])
        records = consumer.consume(2, timeout=30)
        consumer.close()
    assert [json.loads(each.value()) for each in records] == [{"id": 7}, {"id": 8}]


def test_a_topic_shows_what_it_holds_without_a_client() -> None:
    with Broker() as broker:
        broker.create_topic("orders", partitions=3)
        send(broker, "orders", {"id": 7}, {"id": 8}, key="seven")
        topic = broker.topic("orders")
        assert topic.values() == [{"id": 7}, {"id": 8}]
        assert len(topic) == 2
        last = topic.last()
        assert (last.key, last.value, last.offset) == ("seven", {"id": 8}, 1)
        assert last.partition == topic.records()[0].partition


def test_what_was_sent_without_waiting_for_the_disk_is_shown_too() -> None:
    with Broker(flush_ms=60_000) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap, "acks": 1})
        producer.produce("orders", b"1")
        assert producer.flush(30) == 0
        assert broker.topic("orders").values() == [1]


def test_deleted_records_are_not_shown_also_inside_of_a_batch() -> None:
    with Broker() as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 1000})
        for number in range(5):
            producer.produce("orders", str(number))
        assert producer.flush(30) == 0
        with hw.connect(broker.bootstrap) as client:
            client.admin.topics.trim(client.admin.topics.plan_trim("orders", before="3"))
        assert broker.topic("orders").values() == [3, 4]


def test_values_are_read_in_the_format_they_have() -> None:
    with Broker() as broker:
        send(broker, "raw", b"\xff\x00")
        with pytest.raises(UnreadableValue, match="offset 0"):
            broker.topic("raw").records()
        assert broker.topic("raw").values(value_format="bytes") == [b"\xff\x00"]


def test_a_topic_that_is_not_there_is_named_with_those_that_are() -> None:
    with Broker() as broker:
        broker.create_topic("orders")
        with pytest.raises(NotFound, match="orders"):
            broker.topic("order").records()
        with pytest.raises(NotFound, match="is empty"):
            broker.topic("orders").last()


def test_a_topic_is_created_with_its_configs() -> None:
    with Broker() as broker:
        broker.create_topic("latest", partitions=2, cleanup_policy="compact", retention_ms=-1)
        topic = broker.embedded.topics.get("latest")
        assert topic is not None
        assert len(topic.partitions) == 2
        assert topic.configs == {"cleanup.policy": "compact", "retention.ms": "-1"}
        with pytest.raises(Conflict):
            broker.create_topic("latest")
        with pytest.raises(InvalidRequest, match=r"cleanup\.polici"):
            broker.create_topic("other", cleanup_polici="compact")
        with pytest.raises(InvalidRequest, match="1 to 10000 partitions, not 0"):
            broker.create_topic("other", partitions=0)
        with pytest.raises(InvalidRequest):
            broker.create_topic("no/slash")


def test_starting_and_stopping_twice_is_no_error(tmp_path: Path) -> None:
    broker = Broker(data=tmp_path)
    broker.stop()
    broker.start()
    address = broker.start().bootstrap
    broker.restart()
    assert broker.bootstrap == address
    broker.stop()
    broker.stop()
    broker.kill()


def test_one_that_is_not_running_says_so() -> None:
    broker = Broker()
    for use in (lambda: broker.bootstrap, lambda: broker.embedded, lambda: broker.topic("a")):
        with pytest.raises(Conflict, match="not running"):
            use()


def test_a_restart_keeps_records_and_port(tmp_path: Path) -> None:
    with Broker(data=tmp_path) as broker:
        address = broker.bootstrap
        send(broker, "orders", 1)
        broker.restart()
        assert broker.bootstrap == address
        send(broker, "orders", 2)
        assert broker.topic("orders").values() == [1, 2]
    with Broker(data=tmp_path) as again:
        assert again.topic("orders").values() == [1, 2]


def test_a_kill_leaves_no_mark_and_loses_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with Broker(data=tmp_path) as broker:
        send(broker, "orders", *range(100))
        broker.kill()
        assert not (tmp_path / "clean-shutdown").exists()
        broker.start()
        assert "recovered after an unclean shutdown" in caplog.text
        assert broker.topic("orders").values() == list(range(100))


def test_a_producer_goes_on_over_a_kill(tmp_path: Path) -> None:
    with Broker(data=tmp_path) as broker:
        broker.create_topic("orders")
        producer = Producer(
            {
                "bootstrap.servers": broker.bootstrap,
                "enable.idempotence": True,
                "reconnect.backoff.ms": 10,
                "reconnect.backoff.max.ms": 100,
            }
        )
        for number in range(200):
            producer.produce("orders", str(number).encode())
            if number in (50, 120):
                producer.poll(0)
                broker.kill()
                broker.start()
        assert producer.flush(60) == 0
        assert broker.topic("orders").values() == list(range(200))


def test_two_brokers_at_once_are_strangers() -> None:
    with Broker() as first, Broker() as second:
        assert first.port != second.port
        send(first, "orders", 1)
        send(second, "orders", 2)
        assert first.topic("orders").values() == [1]
        assert second.topic("orders").values() == [2]


def test_two_brokers_cannot_share_a_directory(tmp_path: Path) -> None:
    with Broker(data=tmp_path) as first:
        second = Broker(data=tmp_path)
        with pytest.raises(Conflict, match="another broker is using"):
            second.start()
        assert first.topic("__consumer_offsets") is not None
    second.start()
    second.stop()


def test_a_taken_port_is_one_clear_error() -> None:
    with Broker() as first, pytest.raises(Unavailable, match="cannot listen"):
        Broker(listen=first.bootstrap).start()


def test_a_temporary_directory_goes_with_its_broker() -> None:
    with Broker() as broker:
        directory = broker.data
        assert directory.exists()
    assert not directory.exists()
    forgotten = Broker()
    directory = forgotten.data
    del forgotten
    assert not directory.exists()


def test_it_leaves_no_thread_behind() -> None:
    before = set(threading.enumerate())
    with Broker() as broker:
        broker.create_topic("orders")
    broker = Broker()
    broker.start()
    broker.kill()
    assert set(threading.enumerate()) == before


def test_the_clock_is_the_brokers_clock() -> None:
    clock = SettableClock(now_ms=1_000_000)
    with Broker(clock=clock) as broker:
        broker.create_topic("events", message_timestamp_type="LogAppendTime")
        send(broker, "events", 1)
        clock.advance(seconds=5)
        send(broker, "events", 2)
        assert [each.timestamp_ms for each in broker.topic("events").records()] == [
            1_000_000,
            1_005_000,
        ]


def test_retention_follows_the_clock() -> None:
    clock = SettableClock()
    with Broker(clock=clock) as broker:
        broker.create_topic("events", retention_ms=60_000)
        send(broker, "events", 1)
        clock.advance(seconds=59)
        assert broker.topic("events").values() == [1]
        clock.advance(seconds=2)
        assert broker.topic("events").values() == []


def test_compaction_follows_the_clock() -> None:
    clock = SettableClock()
    with Broker(clock=clock) as broker:
        broker.create_topic(
            "prices",
            cleanup_policy="compact",
            segment_ms=1000,
            min_cleanable_dirty_ratio=0,
            message_timestamp_type="LogAppendTime",
        )
        for value in (1, 2):
            send(broker, "prices", value, key="tea")
        clock.advance(seconds=2)
        send(broker, "prices", 3, key="cocoa")
        clock.advance(seconds=1)
        assert broker.topic("prices").values() == [2, 3]


def test_sessions_of_members_follow_the_clock() -> None:
    clock = SettableClock()
    with Broker(clock=clock) as broker:
        broker.create_topic("events")
        consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap,
                "group.id": "readers",
                # A static member does not say that it leaves.
                "group.instance.id": "one",
                "session.timeout.ms": 60_000,
            }
        )
        consumer.subscribe(["events"])
        while not consumer.assignment():
            consumer.poll(0.1)
        consumer.commit(offsets=[TopicPartition("events", 0, 0)], asynchronous=False)
        consumer.close()
        assert len(members_of(broker, "readers")) == 1
        clock.advance(seconds=61)
        assert members_of(broker, "readers") == []


def members_of(broker: Broker, group: str) -> list[str]:
    with hw.connect(f"kafka://{broker.bootstrap}") as client:
        return [each.id for each in client.admin.groups.describe(group).members]


def test_a_clock_may_be_moved_when_the_broker_is_gone() -> None:
    clock = SettableClock()
    with Broker(clock=clock):
        pass
    clock.advance(seconds=1)
    assert clock.monotonic_s() == 1


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"num_partitions": "x"}, "num_partitions must be a whole number"),
        ({"partitions": 3}, "there is no setting 'partitions'"),
    ],
)
def test_a_wrong_setting_is_refused(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidRequest, match=sentence):
        Broker(**settings).start()
