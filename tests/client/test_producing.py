"""Sending: receipts, every part of a record, back-pressure, and failures that cannot be missed."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

import headwater
from headwater.client import Client
from headwater.client.address import Address
from headwater.client.connection import Connection
from headwater.client.producer import Producer
from headwater.clock import SystemClock
from headwater.errors import (
    HeadwaterError,
    InvalidRequest,
    NotFound,
    RecordTooLarge,
    Unavailable,
)


def read_all(client: Client, topic: str, **options: Any) -> list[Any]:
    with client.consumer(topic, until="end", **options) as records:
        return list(records)


def test_a_sent_record_comes_back_whole(client: Client, topic: str) -> None:
    when = datetime(2026, 9, 1, 10, 0, 0, 250_000, tzinfo=UTC)
    receipt = client.send(
        topic,
        {"id": 7, "name": "Müller", "tags": [1, None, True]},
        key="7",
        headers=[("a", "1"), ("a", b"\xff"), ("none", None)],
        timestamp=when,
    )
    (record,) = read_all(client, topic)
    assert (receipt.topic, receipt.partition, receipt.offset) == (topic, 0, 0)
    assert receipt.timestamp == record.timestamp == when
    assert (record.topic, record.partition, record.offset) == (topic, 0, 0)
    assert record.value == {"id": 7, "name": "Müller", "tags": [1, None, True]}
    assert record.key == "7"
    assert record.headers == (("a", b"1"), ("a", b"\xff"), ("none", None))
    assert record.header("a") == b"\xff"
    assert record.header("missing") is None


def test_a_key_that_is_not_text_is_kept_byte_by_byte(client: Client, topic: str) -> None:
    client.send(topic, 1, key=b"\x00\xff\xfe")
    (record,) = read_all(client, topic)
    assert record.key_bytes == b"\x00\xff\xfe"
    client.send(topic, 2, key=record.key)
    assert read_all(client, topic)[1].key_bytes == b"\x00\xff\xfe"


def test_none_is_a_tombstone_and_not_json_null(client: Client, topic: str) -> None:
    client.send(topic, None, key="gone")
    (record,) = read_all(client, topic)
    assert record.value is None
    assert record.raw_value is None


@pytest.mark.parametrize(
    ("value_format", "value", "raw"),
    [
        ("json", {"a": [1, 2.5, "ü"]}, '{"a":[1,2.5,"ü"]}'.encode()),
        ("str", "plain, not JSON", b"plain, not JSON"),
        ("bytes", b"\x00\xff", b"\x00\xff"),
    ],
)
def test_value_formats(
    client: Client, topic: str, value_format: Any, value: Any, raw: bytes
) -> None:
    with client.producer(value_format=value_format) as producer:
        producer.send(topic, value)
    (record,) = read_all(client, topic, value_format=value_format)
    assert record.value == value
    assert record.raw_value == raw


@pytest.mark.parametrize(
    ("value_format", "value"),
    [("json", object()), ("json", float("nan")), ("json", b"x"), ("str", 7), ("bytes", "x")],
)
def test_a_value_of_the_wrong_type_is_refused_before_it_is_sent(
    client: Client, topic: str, value_format: Any, value: Any
) -> None:
    with client.producer(value_format=value_format) as producer, pytest.raises(InvalidRequest):
        producer.send(topic, value)
    assert read_all(client, topic) == []


def test_a_value_that_is_nested_without_end_is_refused(client: Client, topic: str) -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    with pytest.raises(InvalidRequest, match="cannot be written as JSON"):
        client.send(topic, value)


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        ({"key": 7}, "a key is text or bytes, not int"),
        ({"key": {"id": 7}}, "a key is text or bytes, not dict"),
        ({"headers": {"a": 1}}, "the value of header 'a' is text or bytes, not int"),
        ({"headers": "abc"}, "headers are pairs"),
        ({"headers": 5}, "headers are pairs"),
        ({"timestamp": 1795016739.5}, "a time is a datetime or whole milliseconds"),
        ({"timestamp": "2026-09-01"}, "a time is a datetime or whole milliseconds"),
    ],
)
def test_a_part_of_the_wrong_type_is_named_with_what_would_do(
    client: Client, topic: str, part: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InvalidRequest, match=sentence) as refused:
        client.send(topic, 1, **part)
    assert refused.value.hint


def test_a_closed_client_opens_nothing(client: Client, topic: str) -> None:
    closed = Client(client.connection, SystemClock())
    closed.close()
    for opening in (
        lambda: closed.send(topic, 1),
        closed.producer,
        lambda: closed.consumer(topic),
    ):
        with pytest.raises(InvalidRequest, match="the client is closed"):
            opening()


def test_a_batching_producer_keeps_order_and_gives_receipts(client: Client, topic: str) -> None:
    with client.producer() as producer:
        deliveries = [producer.send(topic, number) for number in range(5000)]
        producer.flush()
        assert all(delivery.done for delivery in deliveries)
    assert [delivery.result().offset for delivery in deliveries] == list(range(5000))
    assert [record.value for record in read_all(client, topic)] == list(range(5000))


def test_a_full_queue_slows_the_sender_instead_of_failing(client: Client, topic: str) -> None:
    options = {"queue.buffering.max.messages": 100}
    with client.producer(options=options) as producer:
        for number in range(3000):
            producer.send(topic, number)
    assert len(read_all(client, topic)) == 3000


def test_the_same_key_lands_in_the_same_partition_as_in_java(
    client: Client, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(partitions=8)
    # kafka-clients: murmur2("21") is -973932308, and (that & 0x7fffffff) % 8 is 4.
    assert {client.send(topic, number, key="21").partition for number in range(3)} == {4}


def test_a_chosen_partition_is_used(client: Client, new_topic: Callable[..., str]) -> None:
    topic = new_topic(partitions=3)
    assert client.send(topic, 1, partition=2).partition == 2


def test_leaving_the_block_raises_what_was_not_delivered(
    client: Client, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(**{"max.message.bytes": "200"})
    with pytest.raises(RecordTooLarge, match=r"max\.message\.bytes"), client.producer() as producer:
        producer.send(topic, "x" * 1000)


def test_several_failures_are_counted(client: Client, new_topic: Callable[..., str]) -> None:
    topic = new_topic(**{"max.message.bytes": "200"})
    producer = client.producer(linger_ms=0)
    for _ in range(2):
        with pytest.raises(RecordTooLarge):
            producer.send(topic, "x" * 1000).result()
    producer.flush()  # both were raised by result() already


def test_a_failure_in_the_body_is_not_hidden_by_one_of_delivery(
    client: Client, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(**{"max.message.bytes": "200"})
    with pytest.raises(KeyError) as raised, client.producer() as producer:  # noqa: PT012
        producer.send(topic, "x" * 1000)
        raise KeyError("mine")
    assert any("max.message.bytes" in note for note in raised.value.__notes__)


def test_records_sent_before_a_failing_body_are_stored(client: Client, topic: str) -> None:
    with pytest.raises(KeyError), client.producer() as producer:  # noqa: PT012
        producer.send(topic, 1)
        raise KeyError
    assert [record.value for record in read_all(client, topic)] == [1]


def test_a_closed_producer_refuses_to_send(client: Client, topic: str) -> None:
    with client.producer() as producer:
        producer.send(topic, 1)
    with pytest.raises(InvalidRequest, match="closed"):
        producer.send(topic, 2)


def test_a_partition_that_does_not_exist_is_not_found(client: Client, topic: str) -> None:
    with pytest.raises(NotFound, match=topic):
        client.send(topic, 1, partition=7)


def test_a_broker_that_is_gone_is_unavailable_within_the_time_limit() -> None:
    connection = Connection(Address("127.0.0.1:1", "given"), timeout_s=0.5)
    with pytest.raises(Unavailable), Producer(connection) as producer:
        producer.send("orders", 1)


def test_closing_the_client_flushes_its_producers(
    bootstrap: str, client: Client, topic: str
) -> None:
    with headwater.connect(bootstrap) as other:
        other.producer(linger_ms=10_000).send(topic, 1)
    assert [record.value for record in read_all(client, topic)] == [1]


def test_a_record_is_as_large_as_its_topic_allows(
    client: Client, new_topic: Callable[..., str]
) -> None:
    topic = new_topic(**{"max.message.bytes": "3000000"})
    client.send(topic, "x" * 2_000_000)
    (record,) = read_all(client, topic)
    assert len(record.value) == 2_000_000
    with pytest.raises(RecordTooLarge, match=r"the topic's max\.message\.bytes"):
        client.send(topic, "x" * 4_000_000)


def test_large_records_are_not_batched_beyond_the_limit_of_a_topic(
    client: Client, topic: str
) -> None:
    sizes = [900_000, 200_000, 600_000, 600_000, 999_000, 10, 400_000, 400_000, 400_000]
    with client.producer(value_format="bytes", linger_ms=500) as producer:
        for size in sizes:
            producer.send(topic, b"x" * size)
    assert [len(r.value) for r in read_all(client, topic, value_format="bytes")] == sizes


def test_a_record_beyond_the_limit_of_the_client_does_not_blame_the_topic(
    client: Client, topic: str
) -> None:
    producer = client.producer(options={"message.max.bytes": 1000})
    with pytest.raises(RecordTooLarge, match="the limit of this client") as refused:
        producer.send(topic, "x" * 2000)
    assert "topic" not in refused.value.hint


@pytest.mark.parametrize("zero", [0, datetime(1970, 1, 1, tzinfo=UTC)])
def test_a_timestamp_of_zero_does_not_become_now(
    client: Client, topic: str, zero: datetime | int
) -> None:
    with pytest.raises(InvalidRequest, match="timestamp 0"):
        client.send(topic, 1, timestamp=zero)
    assert client.send(topic, 1, timestamp=1).timestamp_ms == 1


@pytest.mark.parametrize(
    "part",
    [
        {"key": "\ud800"},
        {"headers": {"name": "\ud800"}},
        {"headers": {"\ud800": "value"}},
        {"headers": [("\udcff", "value")]},
        {"value": "\ud800"},
    ],
)
def test_half_a_character_is_our_error_and_no_crash(
    client: Client, topic: str, part: dict[str, Any]
) -> None:
    with pytest.raises(InvalidRequest, match="cannot be"):
        client.send(topic, **{"value": 1, **part})


def test_a_topic_of_the_broker_itself_is_not_called_badly_named(client: Client) -> None:
    with pytest.raises(HeadwaterError) as refused:
        client.send("__consumer_offsets", 1)
    assert "the broker's own topics" in refused.value.what


def test_unknown_options_are_our_error(client: Client) -> None:
    with pytest.raises(HeadwaterError, match=r"no\.such"):
        client.producer(options={"no.such.option": 1})
