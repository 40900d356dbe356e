"""Produce: what is appended, what is answered, and what is refused."""

from typing import Any
from uuid import uuid4

import pytest

from conformance.batches import (
    CONTROL,
    LOG_APPEND_TIME,
    Codec,
    Record,
    batch,
    decode,
    message_set,
    now_ms,
    records_of,
)
from conformance.calls import append, fetch, list_offset, produce, produce_fields, topic_id
from conformance.conftest import NewTopic
from conformance.raw import Connection, ErrorCode, header

HOUR_MS = 3_600_000


def end_offset(connection: Connection, topic: str) -> int:
    return list_offset(connection, topic, -1).offset


def damaged(records: bytes) -> bytes:
    """The batch with its last byte changed."""
    return records[:-1] + bytes([records[-1] ^ 0xFF])


@pytest.mark.parametrize("version", range(3, 13))
def test_appends_in_every_version_by_name(connection: Connection, topic: str, version: int):
    answer = produce(connection, topic, batch(b"a", b"b"), version=version)

    assert (answer.error_code, answer.index, answer.base_offset) == (ErrorCode.none, 0, 0)
    assert answer.log_append_time == -1
    assert [record.value for record in records_of(fetch(connection, topic, 0).records)] == [
        b"a",
        b"b",
    ]


def test_version_13_appends_by_topic_id(connection: Connection, topic: str):
    identity = topic_id(connection, topic)

    response = connection.request(
        "produce",
        13,
        acks=-1,
        timeout=10_000,
        topic_data=[
            {"topic_id": identity, "partition_data": [{"index": 0, "records": batch(b"a")}]}
        ],
    )

    (answered,) = response.responses
    assert answered.topic_id == identity
    assert answered.partition_responses[0].error_code == ErrorCode.none
    assert end_offset(connection, topic) == 1


def test_version_13_unknown_topic_id(connection: Connection):
    unknown = uuid4()

    response = connection.request(
        "produce",
        13,
        acks=-1,
        timeout=10_000,
        topic_data=[
            {"topic_id": unknown, "partition_data": [{"index": 0, "records": batch(b"a")}]}
        ],
    )

    (answered,) = response.responses
    assert answered.topic_id == unknown
    assert answered.partition_responses[0].error_code == ErrorCode.unknown_topic_id


@pytest.mark.parametrize("version", [0, 1, 2])
def test_versions_before_3_are_advertised_and_refused(bootstrap: str, version: int):
    with Connection(bootstrap) as connection:
        # acks, timeout, no topics: the body of these versions.
        connection.send_bytes(header(0, version) + b"\xff\xff" + bytes(8))

        assert connection.is_closed_by_broker()


@pytest.mark.parametrize("codec", Codec)
def test_every_codec_comes_back_as_it_was_sent(connection: Connection, topic: str, codec: Codec):
    records = [
        Record(key=b"k%d" % index, value=b"v" * 100 + b"%d" % index, headers=(("h", b"x"),))
        for index in range(20)
    ]

    append(connection, topic, batch(*records, codec=codec))

    (stored,) = decode(fetch(connection, topic, 0).records)
    assert stored.codec == codec
    assert [(one.key, one.value, one.headers) for one in stored.records] == [
        (one.key, one.value, one.headers) for one in records
    ]
    assert [one.offset for one in stored.records] == list(range(20))


def test_null_key_null_value_empty_value_and_null_header(connection: Connection, topic: str):
    records = [
        Record(key=None, value=None),
        Record(key=b"", value=b""),
        Record(key=b"k", value=b"v", headers=(("h", None), ("h", b""), ("", b"x"))),
    ]

    append(connection, topic, batch(*records))

    stored = records_of(fetch(connection, topic, 0).records)
    assert [(one.key, one.value, one.headers) for one in stored] == [
        (one.key, one.value, one.headers) for one in records
    ]


@pytest.mark.parametrize("acks", [1, -1])
def test_acks_1_and_all_answer_with_the_offset(connection: Connection, topic: str, acks: int):
    produce(connection, topic, batch(b"a", b"b"), acks=acks)

    answer = produce(connection, topic, batch(b"c"), acks=acks)

    assert (answer.error_code, answer.base_offset) == (ErrorCode.none, 2)
    assert answer.log_start_offset == 0


def test_record_acknowledged_with_acks_1_can_be_fetched_at_its_offset(
    connection: Connection, topic: str
):
    for index in range(5):
        offset = produce(connection, topic, batch(b"%d" % index), acks=1).base_offset

        answer = fetch(connection, topic, offset, max_wait=5_000, min_bytes=1)

        assert answer.error_code == ErrorCode.none
        assert [record.value for record in records_of(answer.records)] == [b"%d" % index]


def test_records_acknowledged_with_acks_1_count_at_once(connection: Connection, topic: str):
    produce(connection, topic, batch(b"a", b"b"), acks=1)

    assert end_offset(connection, topic) == 2


def test_acks_0_has_no_answer_and_is_appended(connection: Connection, topic: str):
    connection.send_without_reply("produce", 9, **produce_fields(topic, batch(b"a"), acks=0))

    # The next answer on the connection is that of the next request.
    assert produce(connection, topic, batch(b"b")).base_offset == 1


def test_acks_0_with_an_error_closes_the_connection(bootstrap: str, name: str):
    with Connection(bootstrap) as connection:
        connection.send_without_reply("produce", 9, **produce_fields(name, batch(b"a"), acks=0))

        assert connection.is_closed_by_broker()


@pytest.mark.parametrize("acks", [2, -2])
def test_other_acks_are_refused(connection: Connection, topic: str, acks: int):
    answer = produce(connection, topic, batch(b"a"), acks=acks)

    assert answer.error_code == ErrorCode.invalid_required_acks
    assert answer.base_offset == -1
    assert end_offset(connection, topic) == 0


def test_unknown_topic_and_unknown_partition(connection: Connection, topic: str, name: str):
    unknown_topic = produce(connection, name, batch(b"a"))
    unknown_partition = produce(connection, topic, batch(b"a"), partition=7)

    assert unknown_topic.error_code == ErrorCode.unknown_topic_or_partition
    assert unknown_partition.error_code == ErrorCode.unknown_topic_or_partition
    assert (unknown_partition.index, unknown_partition.base_offset) == (7, -1)


def test_produce_never_creates_a_topic(connection: Connection, name: str):
    produce(connection, name, batch(b"a"))

    response = connection.request(
        "metadata", 12, topics=[{"name": name}], allow_auto_topic_creation=False
    )
    assert response.topics[0].error_code == ErrorCode.unknown_topic_or_partition


def test_damaged_batch_is_refused(connection: Connection, topic: str):
    answer = produce(connection, topic, damaged(batch(b"a" * 50)))

    assert answer.error_code == ErrorCode.corrupt_message
    assert end_offset(connection, topic) == 0


def test_truncated_batch_is_refused(connection: Connection, topic: str):
    answer = produce(connection, topic, batch(b"a" * 50)[:-5])

    assert answer.error_code == ErrorCode.invalid_record


def test_record_count_that_is_a_lie_is_refused(connection: Connection, topic: str):
    answer = produce(connection, topic, batch(b"a", b"b", count=3))

    assert answer.error_code == ErrorCode.invalid_record


def test_last_offset_delta_that_is_a_lie_is_refused(connection: Connection, topic: str):
    answer = produce(connection, topic, batch(b"a", b"b", last_offset_delta=5))

    assert answer.error_code == ErrorCode.invalid_record


@pytest.mark.parametrize("magic", [0, 1])
def test_old_message_formats_are_refused(connection: Connection, topic: str, magic: int):
    answer = produce(connection, topic, message_set(magic, b"a"))

    assert answer.error_code == ErrorCode.invalid_record
    assert end_offset(connection, topic) == 0


@pytest.mark.parametrize("version", [3, 9])
def test_several_batches_for_one_partition_are_refused(
    connection: Connection, topic: str, version: int
):
    answer = produce(connection, topic, batch(b"a") + batch(b"b"), version=version)

    assert answer.error_code == ErrorCode.invalid_record
    assert end_offset(connection, topic) == 0


def test_empty_batch_is_refused(connection: Connection, topic: str):
    assert produce(connection, topic, batch()).error_code == ErrorCode.invalid_record


def test_no_batch_at_all_is_refused(connection: Connection, topic: str):
    assert produce(connection, topic, b"").error_code == ErrorCode.invalid_record


def test_batch_larger_than_the_limit_of_the_topic_is_refused(
    connection: Connection, new_topic: NewTopic
):
    topic = new_topic(configs={"max.message.bytes": "1000"})

    assert produce(connection, topic, batch(b"a" * 800)).error_code == ErrorCode.none
    assert produce(connection, topic, batch(b"a" * 1000)).error_code == ErrorCode.message_too_large
    assert end_offset(connection, topic) == 1


def test_limit_of_the_topic_is_about_the_compressed_batch(
    connection: Connection, new_topic: NewTopic
):
    topic = new_topic(configs={"max.message.bytes": "1000"})

    answer = produce(connection, topic, batch(b"a" * 50_000, codec=Codec.gzip))

    assert answer.error_code == ErrorCode.none


def test_largest_batch_by_default(connection: Connection, topic: str):
    overhead = len(batch(b"a" * 1_000_000)) - 1_000_000

    fits = produce(connection, topic, batch(b"a" * (1_048_588 - overhead)))
    exceeds = produce(connection, topic, batch(b"a" * (1_048_588 - overhead + 1)))

    assert fits.error_code == ErrorCode.none
    assert exceeds.error_code == ErrorCode.message_too_large


def test_one_bad_partition_does_not_spoil_the_others(connection: Connection, new_topic: NewTopic):
    topic = new_topic(partitions=2)

    response = connection.request(
        "produce",
        9,
        acks=-1,
        timeout=10_000,
        topic_data=[
            {
                "name": topic,
                "partition_data": [
                    {"index": 0, "records": damaged(batch(b"a"))},
                    {"index": 1, "records": batch(b"b")},
                    {"index": 2, "records": batch(b"c")},
                ],
            }
        ],
    )

    answers = response.responses[0].partition_responses
    assert {answer.index: answer.error_code for answer in answers} == {
        0: ErrorCode.corrupt_message,
        1: ErrorCode.none,
        2: ErrorCode.unknown_topic_or_partition,
    }


def test_keyless_record_on_a_compacted_topic_is_refused_and_named(
    connection: Connection, new_topic: NewTopic
):
    topic = new_topic(configs={"cleanup.policy": "compact"})
    keyed, keyless = Record(key=b"k", value=b"v"), Record(key=None, value=b"v")

    answer = produce(connection, topic, batch(keyed, keyless, keyed, keyless))

    assert answer.error_code == ErrorCode.invalid_record
    assert [error.batch_index for error in answer.record_errors] == [1, 3]
    assert all(error.batch_index_error_message for error in answer.record_errors)
    assert answer.error_message
    assert end_offset(connection, topic) == 0


@pytest.mark.parametrize("codec", [Codec.none, Codec.lz4])
def test_compacted_topic_accepts_keys_and_tombstones(
    connection: Connection, new_topic: NewTopic, codec: Codec
):
    topic = new_topic(configs={"cleanup.policy": "compact"})

    answer = produce(
        connection,
        topic,
        batch(Record(key=b"k", value=b"v"), Record(key=b"k", value=None), codec=codec),
    )

    assert answer.error_code == ErrorCode.none


def test_create_time_is_kept_and_not_reported(connection: Connection, topic: str):
    then = now_ms() - 5 * HOUR_MS

    answer = produce(
        connection,
        topic,
        batch(Record(timestamp=then), Record(timestamp=then + 7), Record(timestamp=then + 3)),
    )

    assert answer.log_append_time == -1
    (stored,) = decode(fetch(connection, topic, 0).records)
    assert [record.timestamp - then for record in stored.records] == [0, 7, 3]
    assert stored.max_timestamp - then == 7


@pytest.mark.parametrize("codec", [Codec.none, Codec.zstd])
def test_log_append_time_replaces_the_time_of_the_producer(
    connection: Connection, new_topic: NewTopic, codec: Codec
):
    topic = new_topic(configs={"message.timestamp.type": "LogAppendTime"})
    before = now_ms()

    answer = produce(
        connection,
        topic,
        batch(Record(timestamp=1_000), Record(timestamp=2_000), codec=codec),
    )

    assert before <= answer.log_append_time <= now_ms()
    (stored,) = decode(fetch(connection, topic, 0).records)
    assert stored.attributes & LOG_APPEND_TIME
    assert stored.max_timestamp == answer.log_append_time
    assert {record.timestamp for record in stored.records} == {answer.log_append_time}


@pytest.mark.parametrize(
    ("config", "shift_ms"),
    [
        ("message.timestamp.before.max.ms", -10 * HOUR_MS),
        ("message.timestamp.after.max.ms", 10 * HOUR_MS),
    ],
)
def test_timestamp_out_of_range_is_refused_and_named(
    connection: Connection, new_topic: NewTopic, config: str, shift_ms: int
):
    topic = new_topic(configs={config: str(HOUR_MS)})
    now = now_ms()

    answer = produce(
        connection,
        topic,
        batch(Record(timestamp=now), Record(timestamp=now + shift_ms)),
    )

    assert answer.error_code == ErrorCode.invalid_timestamp
    assert [error.batch_index for error in answer.record_errors] == [1]
    assert end_offset(connection, topic) == 0


def test_timestamp_more_than_an_hour_ahead_is_refused_by_default(
    connection: Connection, topic: str
):
    answer = produce(connection, topic, batch(Record(timestamp=now_ms() + 2 * HOUR_MS)))

    assert answer.error_code == ErrorCode.invalid_timestamp


def test_timestamp_of_long_ago_is_accepted_by_default(connection: Connection, topic: str):
    answer = produce(connection, topic, batch(Record(timestamp=0)))

    assert answer.error_code == ErrorCode.none


@pytest.mark.parametrize("codec", [Codec.none, Codec.gzip])
def test_timestamp_type_is_the_topics_not_the_producers(
    connection: Connection, topic: str, codec: Codec
):
    then = now_ms() - HOUR_MS

    append(
        connection,
        topic,
        batch(Record(timestamp=then), attributes=LOG_APPEND_TIME, codec=codec),
    )

    (stored,) = decode(fetch(connection, topic, 0).records)
    assert stored.attributes == 0
    assert stored.records[0].timestamp == then


def test_control_batch_from_a_client_is_refused(connection: Connection, topic: str):
    answer = produce(
        connection,
        topic,
        batch(Record(key=bytes(4), value=bytes(6)), attributes=CONTROL),
    )

    assert answer.error_code == ErrorCode.invalid_record


def test_broker_stamps_offset_and_leader_epoch(connection: Connection, topic: str):
    append(connection, topic, batch(b"a"), batch(b"b", leader_epoch=55))

    stored = decode(fetch(connection, topic, 0).records)
    assert [(one.base_offset, one.leader_epoch) for one in stored] == [(0, 0), (1, 0)]


def test_batch_with_an_offset_of_its_own_is_refused(connection: Connection, topic: str):
    answer = produce(connection, topic, batch(b"a", base_offset=77))

    assert answer.error_code == ErrorCode.invalid_record


def test_compression_is_kept_as_sent(connection: Connection, new_topic: NewTopic):
    as_sent = new_topic(configs={"compression.type": "producer"})

    append(connection, as_sent, batch(b"a" * 500, codec=Codec.lz4), batch(b"b" * 500))

    stored = decode(fetch(connection, as_sent, 0).records)
    assert [one.codec for one in stored] == [Codec.lz4, Codec.none]


def test_topics_and_partitions_in_one_request(connection: Connection, new_topic: NewTopic):
    names = [new_topic(partitions=2), new_topic(partitions=2)]
    topic_data: list[dict[str, Any]] = [
        {
            "name": name,
            "partition_data": [
                {"index": index, "records": batch(f"{name}-{index}".encode())} for index in (1, 0)
            ],
        }
        for name in names
    ]

    response = connection.request("produce", 9, acks=-1, timeout=10_000, topic_data=topic_data)

    assert {
        (answered.name, answer.index): answer.error_code
        for answered in response.responses
        for answer in answered.partition_responses
    } == {(name, index): ErrorCode.none for name in names for index in (0, 1)}
    for name in names:
        for index in (0, 1):
            (record,) = records_of(fetch(connection, name, 0, index).records)
            assert record.value == f"{name}-{index}".encode()
