"""ListOffsets: the ends of the log, and the first record of a time, exact to the record."""

import pytest

from conformance.batches import Codec, Record, batch, now_ms
from conformance.calls import append, list_offset
from conformance.conftest import NewTopic
from conformance.raw import Connection, ErrorCode

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL = -1, -2, -3, -4


def at(*timestamps: int, codec: Codec = Codec.none) -> bytes:
    return batch(*(Record(timestamp=timestamp) for timestamp in timestamps), codec=codec)


def trim(connection: Connection, topic: str, offset: int) -> None:
    connection.request(
        "delete_records",
        2,
        topics=[{"name": topic, "partitions": [{"partition_index": 0, "offset": offset}]}],
        timeout=10_000,
    )


@pytest.mark.parametrize("version", range(1, 12))
def test_ends_in_every_version(connection: Connection, topic: str, version: int):
    append(connection, topic, batch(b"a", b"b", b"c"))

    earliest = list_offset(connection, topic, EARLIEST, version=version)
    latest = list_offset(connection, topic, LATEST, version=version)

    assert (earliest.error_code, earliest.offset, earliest.timestamp) == (ErrorCode.none, 0, -1)
    assert (latest.error_code, latest.offset, latest.timestamp) == (ErrorCode.none, 3, -1)


def test_ends_of_an_empty_log(connection: Connection, topic: str):
    assert list_offset(connection, topic, EARLIEST).offset == 0
    assert list_offset(connection, topic, LATEST).offset == 0


def test_earliest_moves_with_the_start_of_the_log(connection: Connection, topic: str):
    append(connection, topic, *(batch(b"%d" % index) for index in range(5)))
    trim(connection, topic, 3)

    assert list_offset(connection, topic, EARLIEST).offset == 3
    assert list_offset(connection, topic, LATEST).offset == 5


def test_leader_epoch_is_part_of_the_answer(connection: Connection, topic: str):
    append(connection, topic, batch(b"a"))

    assert list_offset(connection, topic, EARLIEST).leader_epoch == 0
    assert list_offset(connection, topic, LATEST).leader_epoch == 0


@pytest.mark.parametrize("codec", Codec)
def test_time_is_exact_to_the_record_inside_a_batch(
    connection: Connection, topic: str, codec: Codec
):
    start = now_ms() - 10_000
    append(
        connection,
        topic,
        at(start, start + 10, start + 20, codec=codec),
        at(start + 30, start + 40, start + 50, codec=codec),
    )

    def first_at(delta: int) -> tuple[int, int]:
        answer = list_offset(connection, topic, start + delta)
        return answer.offset, answer.timestamp - start

    assert first_at(-1000) == (0, 0)
    assert first_at(0) == (0, 0)
    assert first_at(1) == (1, 10)
    assert first_at(20) == (2, 20)
    assert first_at(21) == (3, 30)
    assert first_at(45) == (5, 50)
    assert first_at(50) == (5, 50)


def test_time_after_the_last_record_has_no_offset(connection: Connection, topic: str):
    start = now_ms() - 10_000
    append(connection, topic, at(start))

    answer = list_offset(connection, topic, start + 1)

    assert (answer.error_code, answer.offset, answer.timestamp) == (ErrorCode.none, -1, -1)


def test_time_in_an_empty_log_has_no_offset(connection: Connection, topic: str):
    answer = list_offset(connection, topic, 0)

    assert (answer.error_code, answer.offset, answer.timestamp) == (ErrorCode.none, -1, -1)


def test_times_out_of_order_give_the_first_record_at_or_after(connection: Connection, topic: str):
    start = now_ms() - 10_000
    append(connection, topic, at(start + 50, start + 10), at(start + 30), at(start + 70))

    assert list_offset(connection, topic, start + 5).offset == 0
    assert list_offset(connection, topic, start + 50).offset == 0
    assert list_offset(connection, topic, start + 51).offset == 3


def test_time_look_up_over_many_batches(connection: Connection, topic: str):
    start = now_ms() - 1_000_000
    # More than index.interval.bytes, so that the look-up goes through a sparse index.
    records = [
        batch(Record(timestamp=start + 100 * index, value=b"x" * 1000)) for index in range(60)
    ]
    append(connection, topic, *records)

    for index in (0, 1, 29, 58, 59):
        assert list_offset(connection, topic, start + 100 * index).offset == index
        assert list_offset(connection, topic, start + 100 * index - 50).offset == index


def test_time_look_up_never_goes_before_the_start_of_the_log(connection: Connection, topic: str):
    start = now_ms() - 10_000
    append(connection, topic, *(at(start + 10 * index) for index in range(5)))
    trim(connection, topic, 3)

    answer = list_offset(connection, topic, start)

    assert (answer.offset, answer.timestamp) == (3, start + 30)


@pytest.mark.parametrize("codec", [Codec.none, Codec.zstd])
def test_record_of_the_largest_timestamp(connection: Connection, topic: str, codec: Codec):
    start = now_ms() - 10_000
    append(
        connection,
        topic,
        at(start, codec=codec),
        at(start + 5, start + 90, start + 7, codec=codec),
        at(start + 10, codec=codec),
    )

    answer = list_offset(connection, topic, MAX_TIMESTAMP)

    assert (answer.offset, answer.timestamp) == (2, start + 90)


def test_time_look_up_passes_header_names_that_are_no_text(connection: Connection, topic: str):
    start = now_ms() - 10_000
    headers = (("\udcff", b"x"),)
    records = [Record(timestamp=start + each, headers=headers) for each in (0, 10)]
    append(connection, topic, batch(*records))

    assert list_offset(connection, topic, start + 5).offset == 1
    assert list_offset(connection, topic, MAX_TIMESTAMP).offset == 1


def test_largest_timestamp_twice_is_the_first_of_them(connection: Connection, topic: str):
    start = now_ms() - 10_000
    append(connection, topic, at(start), at(start + 9), at(start + 9))

    assert list_offset(connection, topic, MAX_TIMESTAMP).offset == 1


def test_largest_timestamp_of_an_empty_log(connection: Connection, topic: str):
    answer = list_offset(connection, topic, MAX_TIMESTAMP)

    assert (answer.error_code, answer.offset, answer.timestamp) == (ErrorCode.none, -1, -1)


def test_earliest_local_is_the_earliest_without_tiered_storage(connection: Connection, topic: str):
    append(connection, topic, batch(b"a"))

    assert list_offset(connection, topic, EARLIEST_LOCAL, version=8).offset == 0


def test_log_append_time_is_what_is_looked_up(connection: Connection, new_topic: NewTopic):
    topic = new_topic(configs={"message.timestamp.type": "LogAppendTime"})
    before = now_ms()
    append(connection, topic, at(1_000, 2_000))

    answer = list_offset(connection, topic, before)

    assert answer.offset == 0
    assert before <= answer.timestamp <= now_ms()
    assert list_offset(connection, topic, answer.timestamp + 1).offset == -1


@pytest.mark.parametrize(("timestamp", "first"), [(-3, 7), (-4, 8), (-5, 9), (-6, 11), (-7, None)])
def test_special_time_is_refused_before_the_version_that_brought_it(
    connection: Connection, topic: str, timestamp: int, first: int | None
):
    append(connection, topic, batch(b"a"))
    versions = range(1, 12)

    codes = [
        list_offset(connection, topic, timestamp, version=each).error_code for each in versions
    ]

    known = [first is not None and each >= first for each in versions]
    assert [code == ErrorCode.none for code in codes] == known
    assert set(codes) <= {ErrorCode.none, ErrorCode.unsupported_version}


def test_unknown_topic_and_partition(connection: Connection, topic: str, name: str):
    unknown = ErrorCode.unknown_topic_or_partition

    assert list_offset(connection, name, LATEST).error_code == unknown
    answer = list_offset(connection, topic, LATEST, partition=3)
    assert (answer.error_code, answer.partition_index, answer.offset) == (unknown, 3, -1)


def test_leader_epoch_of_the_client_is_checked(connection: Connection, topic: str):
    def ask(epoch: int) -> ErrorCode:
        response = connection.request(
            "list_offsets",
            7,
            replica_id=-1,
            topics=[
                {
                    "name": topic,
                    "partitions": [
                        {"partition_index": 0, "timestamp": -1, "current_leader_epoch": epoch}
                    ],
                }
            ],
        )
        return response.topics[0].partitions[0].error_code

    assert ask(-1) == ErrorCode.none
    assert ask(0) == ErrorCode.none
    assert ask(5) == ErrorCode.unknown_leader_epoch


def test_partition_named_twice_is_refused(connection: Connection, topic: str):
    partition = {"partition_index": 0, "timestamp": LATEST}

    response = connection.request(
        "list_offsets",
        7,
        replica_id=-1,
        topics=[{"name": topic, "partitions": [partition, partition]}],
    )

    codes = {answer.error_code for answer in response.topics[0].partitions}
    assert codes == {ErrorCode.invalid_request}


def test_read_committed_latest_without_transactions(connection: Connection, topic: str):
    append(connection, topic, batch(b"a"))

    response = connection.request(
        "list_offsets",
        7,
        replica_id=-1,
        isolation_level=1,
        topics=[{"name": topic, "partitions": [{"partition_index": 0, "timestamp": LATEST}]}],
    )

    assert response.topics[0].partitions[0].offset == 1
