"""DeleteRecords: the start of the log moves forward, and nothing before it comes back."""

from typing import Any

import pytest

from conformance.batches import Record, batch, records_of
from conformance.calls import append, fetch, list_offset
from conformance.conftest import NewTopic
from conformance.raw import Connection, ErrorCode

HIGH_WATERMARK = -1


def delete_before(
    connection: Connection, topic: str, offset: int, partition: int = 0, version: int = 2
) -> Any:
    response = connection.request(
        "delete_records",
        version,
        topics=[{"name": topic, "partitions": [{"partition_index": partition, "offset": offset}]}],
        timeout=10_000,
    )
    return response.topics[0].partitions[0]


@pytest.fixture
def ten_records(connection: Connection, topic: str) -> str:
    append(connection, topic, *(batch(b"%d" % index) for index in range(10)))
    return topic


@pytest.mark.parametrize("version", [0, 1, 2])
def test_deletes_before_an_offset(connection: Connection, ten_records: str, version: int):
    answer = delete_before(connection, ten_records, 4, version=version)

    assert (answer.error_code, answer.low_watermark) == (ErrorCode.none, 4)
    assert list_offset(connection, ten_records, -2).offset == 4
    stored = records_of(fetch(connection, ten_records, 4).records)
    assert [record.offset for record in stored] == [4, 5, 6, 7, 8, 9]


def test_deletes_everything_up_to_the_high_watermark(connection: Connection, ten_records: str):
    answer = delete_before(connection, ten_records, HIGH_WATERMARK)

    assert (answer.error_code, answer.low_watermark) == (ErrorCode.none, 10)
    assert list_offset(connection, ten_records, -2).offset == 10
    assert append(connection, ten_records, batch(b"next")) == 10


def test_offset_beyond_the_end_is_out_of_range(connection: Connection, ten_records: str):
    answer = delete_before(connection, ten_records, 11)

    assert (answer.error_code, answer.low_watermark) == (ErrorCode.offset_out_of_range, -1)
    assert list_offset(connection, ten_records, -2).offset == 0


def test_start_of_the_log_never_goes_back(connection: Connection, ten_records: str):
    delete_before(connection, ten_records, 6)

    answer = delete_before(connection, ten_records, 3)

    assert (answer.error_code, answer.low_watermark) == (ErrorCode.none, 6)


def test_start_may_be_inside_a_batch(connection: Connection, topic: str):
    append(connection, topic, batch(b"a", b"b", b"c", b"d"))

    delete_before(connection, topic, 2)

    assert list_offset(connection, topic, -2).offset == 2
    assert fetch(connection, topic, 1).error_code == ErrorCode.offset_out_of_range
    # The batch is one piece; the client skips what lies before its position.
    stored = records_of(fetch(connection, topic, 2).records)
    assert [record.offset for record in stored] == [0, 1, 2, 3]


def test_unknown_topic_and_partition(connection: Connection, topic: str, name: str):
    unknown = ErrorCode.unknown_topic_or_partition

    assert delete_before(connection, name, 0).error_code == unknown
    assert delete_before(connection, topic, 0, partition=4).error_code == unknown


def test_other_negative_offsets_are_out_of_range(connection: Connection, ten_records: str):
    assert delete_before(connection, ten_records, -2).error_code == ErrorCode.offset_out_of_range


@pytest.mark.parametrize(
    ("policy", "code"),
    [
        ("compact", ErrorCode.policy_violation),
        ("compact,delete", ErrorCode.none),
        ("", ErrorCode.none),
    ],
)
def test_records_of_a_topic_that_is_only_compacted_cannot_be_deleted(
    connection: Connection, new_topic: NewTopic, policy: str, code: ErrorCode
):
    topic = new_topic(configs={"cleanup.policy": policy})
    append(connection, topic, batch(Record(key=b"k")))

    assert delete_before(connection, topic, 1).error_code == code


@pytest.mark.usefixtures("coordinator")
def test_records_of_internal_topics_cannot_be_deleted(connection: Connection):
    found = delete_before(connection, "__consumer_offsets", 0)

    assert found.error_code == ErrorCode.invalid_topic_exception
