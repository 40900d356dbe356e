"""What readers see of transactions: Fetch and ListOffsets with an isolation level, and end markers."""

import struct
from collections.abc import Callable
from typing import Any

import pytest

from conformance.batches import CONTROL, TRANSACTIONAL, Batch, batch, decode, now_ms
from conformance.calls import (
    append,
    eventually,
    fetch,
    fetch_fields,
    list_offset,
    partition_to_fetch,
)
from conformance.conftest import NewTopic
from conformance.raw import Connection, ErrorCode
from conformance.transactional import Transactional, committed_fetch, committed_values

NewProducer = Callable[..., Transactional]
COMMITTED = 1


def aborted(answer: Any) -> list[tuple[int, int]]:
    return sorted((each.producer_id, each.first_offset) for each in answer.aborted_transactions)


def markers(connection: Connection, topic: str) -> list[Batch]:
    batches = decode(fetch(connection, topic, 0).records)
    return [each for each in batches if each.attributes & CONTROL]


def test_committed_transaction_is_read(
    connection: Connection, topic: str, transactional: NewProducer
):
    producer = transactional()
    producer.send(topic, b"a", b"b")
    producer.send(topic, b"c")
    producer.commit()

    answer = committed_fetch(connection, topic)

    assert committed_values(connection, topic) == [b"a", b"b", b"c"]
    assert (answer.last_stable_offset, answer.high_watermark) == (4, 4)
    assert answer.aborted_transactions == []


def test_open_transaction_is_not_read_until_it_ends(
    connection: Connection, topic: str, transactional: NewProducer
):
    append(connection, topic, batch(b"before"))
    producer = transactional()
    producer.send(topic, b"open")
    append(connection, topic, batch(b"after"))

    answer = committed_fetch(connection, topic)
    assert (answer.last_stable_offset, answer.high_watermark) == (1, 3)
    assert committed_values(connection, topic) == [b"before"]
    assert fetch(connection, topic, 0).aborted_transactions in (None, [])
    assert len(decode(fetch(connection, topic, 0).records)) == 3

    producer.commit()
    assert committed_values(connection, topic) == [b"before", b"open", b"after"]


def test_reader_at_the_last_stable_offset_gets_nothing_and_no_error(
    connection: Connection, topic: str, transactional: NewProducer
):
    producer = transactional()
    producer.send(topic, b"open")
    append(connection, topic, batch(b"after"))

    for offset in (0, 1, 2):
        answer = committed_fetch(connection, topic, offset)
        assert (answer.error_code, answer.records) == (ErrorCode.none, b"")
        assert answer.last_stable_offset == 0
    producer.abort()


def test_aborted_transaction_is_listed_where_it_begins(
    connection: Connection, topic: str, transactional: NewProducer
):
    append(connection, topic, batch(b"before"))
    producer = transactional()
    identity = producer.producer_id
    producer.send(topic, b"never")
    producer.send(topic, b"never")
    producer.abort()
    append(connection, topic, batch(b"after"))

    answer = committed_fetch(connection, topic)

    assert aborted(answer) == [(identity, 1)]
    assert answer.last_stable_offset == answer.high_watermark == 5
    assert committed_values(connection, topic) == [b"before", b"after"]


def test_only_aborted_transactions_with_records_in_the_answer_are_listed(
    connection: Connection, topic: str, transactional: NewProducer
):
    producer = transactional()
    first_id = producer.producer_id
    producer.send(topic, b"aborted")
    producer.abort()
    end = append(connection, topic, batch(b"between"))
    second_id = producer.producer_id
    producer.send(topic, b"aborted too")
    producer.abort()

    assert aborted(committed_fetch(connection, topic, 0)) == [(first_id, 0), (second_id, 3)]
    assert aborted(committed_fetch(connection, topic, end)) == [(second_id, 3)]
    # A reader may begin inside of an aborted transaction, at its marker.
    assert aborted(committed_fetch(connection, topic, 1)) == [(first_id, 0), (second_id, 3)]
    assert committed_values(connection, topic) == [b"between"]


def test_interleaved_transactions_end_each_in_its_way(
    connection: Connection, topic: str, transactional: NewProducer
):
    good, bad, late = transactional(), transactional(), transactional()
    good.send(topic, b"good 1")
    bad.send(topic, b"bad 1")
    late.send(topic, b"late 1")
    bad_id = bad.producer_id
    good.send(topic, b"good 2")
    bad.send(topic, b"bad 2")
    good.commit()
    bad.abort()

    answer = committed_fetch(connection, topic)
    assert answer.last_stable_offset == 2
    assert aborted(answer) == [(bad_id, 1)]
    assert committed_values(connection, topic) == [b"good 1"]

    late.commit()
    assert committed_values(connection, topic) == [b"good 1", b"late 1", b"good 2"]


def test_transactions_of_one_producer_follow_each_other(
    connection: Connection, topic: str, transactional: NewProducer
):
    producer = transactional()
    for number in range(6):
        producer.send(topic, b"%d" % number)
        producer.finish(commit=number % 2 == 0)

    assert committed_values(connection, topic) == [b"0", b"2", b"4"]


def test_transaction_ends_in_all_its_partitions(
    connection: Connection, new_topic: NewTopic, transactional: NewProducer
):
    one, two = new_topic(partitions=2), new_topic()
    producer = transactional()
    producer.send(one, b"a", partition=0)
    producer.send(one, b"b", partition=1)
    producer.send(two, b"c")
    producer.commit()
    producer.send(one, b"x", partition=1)
    producer.send(two, b"y")
    producer.abort()

    assert committed_values(connection, one, 0) == [b"a"]
    assert committed_values(connection, one, 1) == [b"b"]
    assert committed_values(connection, two) == [b"c"]


def test_markers_say_how_the_transaction_ended(
    connection: Connection, topic: str, transactional: NewProducer
):
    producer = transactional()
    epochs = []
    for commit in (True, False):
        epochs.append(producer.epoch)
        producer.send(topic, b"record")
        producer.finish(commit=commit)

    committed, rolled_back = markers(connection, topic)

    for marker, epoch, kind in ((committed, epochs[0], 1), (rolled_back, epochs[1], 0)):
        assert marker.attributes == CONTROL | TRANSACTIONAL
        assert marker.producer_id == producer.producer_id
        assert marker.producer_epoch == epoch + producer.dialect.bumps_epochs
        assert marker.base_sequence == -1
        (record,) = marker.records
        assert record.key == struct.pack(">hh", 0, kind)
        assert len(record.value or b"") == 6
        assert abs(record.timestamp - now_ms()) < 60_000


def test_partition_without_records_still_gets_its_marker(
    connection: Connection, topic: str, transactional: NewProducer
):
    producer = transactional()
    if producer.dialect.bumps_epochs:
        pytest.skip("since KIP-890 a partition is added by its first record")
    producer.begin_in((topic, 0))
    producer.commit()

    (marker,) = markers(connection, topic)
    assert marker.base_offset == 0


def test_latest_offset_depends_on_the_isolation_level(
    connection: Connection, topic: str, transactional: NewProducer
):
    append(connection, topic, batch(b"before"))
    producer = transactional()
    producer.send(topic, b"open")

    assert list_offset(connection, topic, -1).offset == 2
    assert committed_offset(connection, topic, -1).offset == 1
    assert committed_offset(connection, topic, -2).offset == 0

    producer.commit()
    assert committed_offset(connection, topic, -1).offset == 3


def test_record_of_an_open_transaction_is_not_found_by_its_time(
    connection: Connection, topic: str, transactional: NewProducer
):
    append(connection, topic, batch(b"before"))
    began = now_ms() + 1
    eventually(lambda: now_ms() > began)
    producer = transactional()
    producer.send(topic, b"open")

    assert list_offset(connection, topic, began).offset == 1
    assert committed_offset(connection, topic, began).offset == -1

    producer.commit()
    assert committed_offset(connection, topic, began).offset == 1


def committed_offset(connection: Connection, topic: str, timestamp: int) -> Any:
    response = connection.request(
        "list_offsets",
        7,
        replica_id=-1,
        isolation_level=COMMITTED,
        topics=[{"name": topic, "partitions": [{"partition_index": 0, "timestamp": timestamp}]}],
    )
    (answer,) = response.topics[0].partitions
    assert answer.error_code == ErrorCode.none
    return answer


def test_waiting_reader_is_woken_when_the_transaction_ends(
    connect: Callable[[], Connection], topic: str, transactional: NewProducer
):
    producer = transactional()
    producer.send(topic, b"open")
    reader = connect()
    fields = fetch_fields(partition_to_fetch(topic, 0), isolation_level=COMMITTED)
    reader.send("fetch", 12, **(fields | {"max_wait": 20_000, "min_bytes": 1}))

    producer.commit()
    answer = reader.receive().responses[0].partitions[0]

    assert next(each.values for each in decode(answer.records)) == [b"open"]


def test_deleting_records_moves_the_last_stable_offset(
    connection: Connection, topic: str, transactional: NewProducer
):
    producer = transactional()
    producer.send(topic, b"open")
    append(connection, topic, batch(b"b"), batch(b"c"))
    response = connection.request(
        "delete_records",
        2,
        topics=[{"name": topic, "partitions": [{"partition_index": 0, "offset": 2}]}],
        timeout=10_000,
    )
    assert response.topics[0].partitions[0].error_code == ErrorCode.none

    answer = committed_fetch(connection, topic, 2)
    assert (answer.log_start_offset, answer.last_stable_offset) == (2, 2)
    assert answer.records == b""

    producer.abort()
    answer = committed_fetch(connection, topic, 2)
    assert answer.last_stable_offset == 4
    assert decode(answer.records)[0].values == [b"c"]
