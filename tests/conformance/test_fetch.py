"""Fetch: what comes back for an offset, how much of it, and how long the broker waits for more."""

import time
from typing import Any
from uuid import uuid4

import pytest

from conformance.batches import Codec, batch, decode, records_of
from conformance.calls import (
    append,
    fetch,
    fetch_fields,
    list_offset,
    partition_to_fetch,
    produce,
    topic_id,
)
from conformance.conftest import NewTopic
from conformance.raw import Connection, ErrorCode

FOREVER_MS = 20_000


def by_id(identity: Any, offset: int, partition: int = 0) -> dict[str, Any]:
    fields = partition_to_fetch("", offset, partition)
    return {"topic_id": identity, "partitions": fields["partitions"]}


@pytest.mark.parametrize("version", range(4, 13))
def test_fetches_in_every_version_by_name(connection: Connection, topic: str, version: int):
    append(connection, topic, batch(b"a", b"b"))

    response = connection.request("fetch", version, **fetch_fields(partition_to_fetch(topic, 0)))

    (answered,) = response.responses
    (answer,) = answered.partitions
    assert (answered.topic, answer.partition_index) == (topic, 0)
    assert answer.error_code == ErrorCode.none
    assert answer.high_watermark == answer.last_stable_offset == 2
    assert [record.value for record in records_of(answer.records)] == [b"a", b"b"]


@pytest.mark.parametrize("version", range(13, 19))
def test_fetches_in_every_version_by_topic_id(connection: Connection, topic: str, version: int):
    append(connection, topic, batch(b"a", b"b"))
    identity = topic_id(connection, topic)

    response = connection.request("fetch", version, **fetch_fields(by_id(identity, 0)))

    (answered,) = response.responses
    (answer,) = answered.partitions
    assert answered.topic_id == identity
    assert answer.error_code == ErrorCode.none
    assert [record.value for record in records_of(answer.records)] == [b"a", b"b"]


def test_unknown_topic_id(connection: Connection):
    response = connection.request("fetch", 13, **fetch_fields(by_id(uuid4(), 0)))

    (answer,) = response.responses[0].partitions
    assert answer.error_code == ErrorCode.unknown_topic_id


def test_unknown_topic_and_unknown_partition(connection: Connection, topic: str, name: str):
    assert fetch(connection, name, 0).error_code == ErrorCode.unknown_topic_or_partition
    answer = fetch(connection, topic, 0, partition=5)

    assert answer.error_code == ErrorCode.unknown_topic_or_partition
    assert answer.high_watermark == -1


def test_fetch_never_creates_a_topic(connection: Connection, name: str):
    fetch(connection, name, 0)

    assert fetch(connection, name, 0).error_code == ErrorCode.unknown_topic_or_partition


def test_start_in_the_middle_of_the_log(connection: Connection, topic: str):
    append(connection, topic, *(batch(b"%d" % index) for index in range(10)))

    stored = records_of(fetch(connection, topic, 6).records)

    assert [record.offset for record in stored] == [6, 7, 8, 9]


@pytest.mark.parametrize("codec", [Codec.none, Codec.gzip])
def test_fetch_in_the_middle_of_a_batch_returns_the_whole_batch(
    connection: Connection, topic: str, codec: Codec
):
    append(connection, topic, batch(b"a"), batch(b"b", b"c", b"d", codec=codec), batch(b"e"))

    batches = decode(fetch(connection, topic, 2).records)

    assert [(one.base_offset, one.values) for one in batches] == [
        (1, [b"b", b"c", b"d"]),
        (4, [b"e"]),
    ]


def test_fetch_at_the_end_of_the_log_is_empty_and_not_null(connection: Connection, topic: str):
    append(connection, topic, batch(b"a"))

    answer = fetch(connection, topic, 1)

    assert (answer.error_code, answer.records) == (ErrorCode.none, b"")
    assert (answer.high_watermark, answer.log_start_offset) == (1, 0)


def test_fetch_from_an_empty_log_is_empty_and_not_null(connection: Connection, topic: str):
    answer = fetch(connection, topic, 0)

    assert (answer.error_code, answer.records, answer.high_watermark) == (ErrorCode.none, b"", 0)


def test_offset_after_the_end_is_out_of_range(connection: Connection, topic: str):
    append(connection, topic, batch(b"a"))

    answer = fetch(connection, topic, 2)

    assert answer.error_code == ErrorCode.offset_out_of_range
    assert answer.records == b""
    assert answer.high_watermark == -1


def test_offset_before_the_start_is_out_of_range(connection: Connection, topic: str):
    append(connection, topic, *(batch(b"%d" % index) for index in range(4)))
    connection.request(
        "delete_records",
        2,
        topics=[{"name": topic, "partitions": [{"partition_index": 0, "offset": 3}]}],
        timeout=10_000,
    )

    assert fetch(connection, topic, 2).error_code == ErrorCode.offset_out_of_range
    answer = fetch(connection, topic, 3)
    assert (answer.error_code, answer.log_start_offset) == (ErrorCode.none, 3)


def test_negative_offset_is_out_of_range(connection: Connection, topic: str):
    assert fetch(connection, topic, -5).error_code == ErrorCode.offset_out_of_range


def test_partition_limit_stops_at_whole_batches_or_inside_one(connection: Connection, topic: str):
    size = len(batch(b"x" * 1000))
    append(connection, topic, *(batch(b"x" * 1000) for _ in range(5)))

    answer = fetch_limited(connection, topic, partition_max_bytes=2 * size + 10)

    assert size * 2 <= len(answer.records) <= size * 2 + 10
    assert [one.base_offset for one in decode(answer.records)] == [0, 1]


def test_first_batch_larger_than_the_partition_limit_is_still_returned(
    connection: Connection, topic: str
):
    append(connection, topic, batch(b"x" * 5000), batch(b"y" * 5000))

    answer = fetch_limited(connection, topic, partition_max_bytes=100)

    (one,) = decode(answer.records)
    assert one.values == [b"x" * 5000]


def test_first_batch_larger_than_the_request_limit_is_still_returned(
    connection: Connection, topic: str
):
    append(connection, topic, batch(b"x" * 5000), batch(b"y" * 5000))

    answer = fetch_limited(connection, topic, max_bytes=100)

    (one,) = decode(answer.records)
    assert one.values == [b"x" * 5000]


def test_request_limit_is_shared_by_the_partitions(connection: Connection, new_topic: NewTopic):
    topic = new_topic(partitions=3)
    size = len(batch(b"x" * 1000))
    for partition in range(3):
        append(connection, topic, batch(b"x" * 1000), batch(b"y" * 1000), partition=partition)

    response = connection.request(
        "fetch",
        12,
        **fetch_fields(
            *(partition_to_fetch(topic, 0, partition) for partition in range(3)),
            max_bytes=3 * size,
        ),
    )

    sizes = [
        sum(len(one.values) for one in decode(answer.records))
        for answered in response.responses
        for answer in answered.partitions
    ]
    assert sizes == [2, 1, 0]


def test_only_the_first_partition_with_data_may_exceed_the_limit(
    connection: Connection, new_topic: NewTopic
):
    topic = new_topic(partitions=3)
    for partition in (1, 2):
        append(connection, topic, batch(b"x" * 5000), partition=partition)

    response = connection.request(
        "fetch",
        12,
        **fetch_fields(
            *(partition_to_fetch(topic, 0, partition, max_bytes=100) for partition in range(3)),
            max_bytes=100,
        ),
    )

    counts = [
        len(decode(answer.records))
        for answered in response.responses
        for answer in answered.partitions
    ]
    assert counts == [0, 1, 0]


def test_waits_for_the_first_record(connect: Any, topic: str):
    consumer, producer = connect(), connect()
    consumer.send(
        "fetch", 12, **fetch_fields(partition_to_fetch(topic, 0), max_wait=FOREVER_MS, min_bytes=1)
    )

    began = time.monotonic()
    append(producer, topic, batch(b"a"))
    response = consumer.receive()

    assert time.monotonic() - began < 5
    assert [one.values for one in decode(response.responses[0].partitions[0].records)] == [[b"a"]]


def test_waits_for_min_bytes(connect: Any, topic: str):
    consumer, producer = connect(), connect()
    size = len(batch(b"x" * 1000))
    consumer.send(
        "fetch",
        12,
        **fetch_fields(partition_to_fetch(topic, 0), max_wait=FOREVER_MS, min_bytes=3 * size),
    )

    append(producer, topic, *(batch(b"x" * 1000) for _ in range(3)))
    response = consumer.receive()

    assert len(decode(response.responses[0].partitions[0].records)) == 3


def test_min_bytes_are_counted_over_all_partitions(connect: Any, new_topic: NewTopic):
    topic = new_topic(partitions=2)
    consumer, producer = connect(), connect()
    size = len(batch(b"x" * 1000))
    consumer.send(
        "fetch",
        12,
        **fetch_fields(
            partition_to_fetch(topic, 0, 0),
            partition_to_fetch(topic, 0, 1),
            max_wait=FOREVER_MS,
            min_bytes=2 * size,
        ),
    )

    append(producer, topic, batch(b"x" * 1000), partition=0)
    append(producer, topic, batch(b"x" * 1000), partition=1)
    response = consumer.receive()

    counts = [
        len(decode(answer.records))
        for answered in response.responses
        for answer in answered.partitions
    ]
    assert counts == [1, 1]


@pytest.mark.parametrize("limit", ["partition_max_bytes", "max_bytes"])
def test_what_a_limit_holds_back_counts_as_there(connection: Connection, topic: str, limit: str):
    """The last batch below the limit does not fit: a reader must not wait for what it cannot get."""
    size = len(batch(b"x" * 1000))
    append(connection, topic, *(batch(b"x" * 1000) for _ in range(4)))
    fields = {"max_wait": FOREVER_MS, "min_bytes": 2 * size + 200}
    began = time.monotonic()

    answer = fetch_limited(connection, topic, **{limit: 2 * size + 400}, **fields)

    assert time.monotonic() - began < 5
    assert [one.base_offset for one in decode(answer.records)] == [0, 1]


def test_more_min_bytes_than_a_partition_may_give_are_waited_for(
    connection: Connection, topic: str
):
    size = len(batch(b"x" * 1000))
    append(connection, topic, *(batch(b"x" * 1000) for _ in range(4)))
    began = time.monotonic()

    answer = fetch_limited(
        connection, topic, partition_max_bytes=2 * size, max_wait=300, min_bytes=3 * size
    )

    assert time.monotonic() - began > 0.29
    assert [one.base_offset for one in decode(answer.records)] == [0, 1]


def test_reader_of_an_older_segment_does_not_wait(connection: Connection, new_topic: NewTopic):
    topic = new_topic(configs={"segment.bytes": str(1 << 20)})
    append(connection, topic, *(batch(b"x" * 500_000) for _ in range(3)))
    began = time.monotonic()

    answer = fetch_limited(
        connection, topic, partition_max_bytes=700_000, max_wait=FOREVER_MS, min_bytes=10_000_000
    )

    assert time.monotonic() - began < 5
    assert [one.base_offset for one in decode(answer.records)] == [0]


def test_wait_ends_with_what_there_is(connection: Connection, topic: str):
    append(connection, topic, batch(b"a"))
    began = time.monotonic()

    answer = fetch(connection, topic, 0, max_wait=200, min_bytes=1_000_000)

    assert 0.19 < time.monotonic() - began < 5
    assert len(decode(answer.records)) == 1


def test_wait_at_the_end_of_the_log_ends_empty(connection: Connection, topic: str):
    began = time.monotonic()

    answer = fetch(connection, topic, 0, max_wait=200, min_bytes=1)

    assert time.monotonic() - began > 0.19
    assert answer.records == b""


def test_data_that_is_there_is_returned_without_waiting(connection: Connection, topic: str):
    append(connection, topic, batch(b"a"))
    began = time.monotonic()

    fetch(connection, topic, 0, max_wait=FOREVER_MS, min_bytes=1)

    assert time.monotonic() - began < 5


def test_error_in_one_partition_is_returned_without_waiting(connection: Connection, topic: str):
    began = time.monotonic()

    answer = fetch(connection, topic, 99, max_wait=FOREVER_MS, min_bytes=1)

    assert answer.error_code == ErrorCode.offset_out_of_range
    assert time.monotonic() - began < 5


def test_topic_deleted_while_a_fetch_waits_ends_the_wait(connect: Any, topic: str):
    consumer, admin = connect(), connect()
    consumer.send(
        "fetch", 12, **fetch_fields(partition_to_fetch(topic, 0), max_wait=FOREVER_MS, min_bytes=1)
    )
    admin.request("delete_topics", 5, topic_names=[topic], timeout=10_000)

    began = time.monotonic()
    response = consumer.receive()

    assert time.monotonic() - began < 10
    assert response.responses[0].partitions[0].error_code in {
        ErrorCode.unknown_topic_or_partition,
        ErrorCode.not_leader_or_follower,
    }


def test_leader_epoch_of_the_client_is_checked(connection: Connection, topic: str):
    append(connection, topic, batch(b"a"))

    def ask(epoch: int) -> ErrorCode:
        fields = partition_to_fetch(topic, 0)
        fields["partitions"][0]["current_leader_epoch"] = epoch
        response = connection.request("fetch", 12, **fetch_fields(fields))
        return response.responses[0].partitions[0].error_code

    assert ask(-1) == ErrorCode.none
    assert ask(0) == ErrorCode.none
    assert ask(9) == ErrorCode.unknown_leader_epoch


@pytest.mark.parametrize("isolation_level", [0, 1])
def test_isolation_level_without_transactions_makes_no_difference(
    connection: Connection, topic: str, isolation_level: int
):
    append(connection, topic, batch(b"a"))

    answer = fetch(connection, topic, 0, isolation_level=isolation_level)

    assert len(decode(answer.records)) == 1
    assert answer.aborted_transactions == ([] if isolation_level else None)


def test_reader_sees_a_record_as_soon_as_its_producer_is_answered(
    connection: Connection, topic: str
):
    for index in range(20):
        produce(connection, topic, batch(b"%d" % index), acks=-1)
        assert list_offset(connection, topic, -1).offset == index + 1
        assert len(decode(fetch(connection, topic, index).records)) == 1


def fetch_limited(
    connection: Connection,
    topic: str,
    partition_max_bytes: int = 1 << 20,
    max_bytes: int = 1 << 20,
    **fields: Any,
) -> Any:
    response = connection.request(
        "fetch",
        12,
        **fetch_fields(
            partition_to_fetch(topic, 0, max_bytes=partition_max_bytes),
            max_bytes=max_bytes,
            **fields,
        ),
    )
    return response.responses[0].partitions[0]
