"""OffsetForLeaderEpoch: where an epoch ended, so that a client can see whether it was truncated."""

from typing import Any

import pytest

from conformance.batches import batch
from conformance.calls import append
from conformance.raw import Connection, ErrorCode


def end_of_epoch(
    connection: Connection,
    topic: str,
    epoch: int,
    current: int = -1,
    partition: int = 0,
    version: int = 4,
) -> Any:
    fields = {"partition": partition, "current_leader_epoch": current, "leader_epoch": epoch}
    replica = {"replica_id": -1} if version >= 3 else {}
    response = connection.request(
        "offset_for_leader_epoch",
        version,
        topics=[{"topic": topic, "partitions": [fields]}],
        **replica,
    )
    return response.topics[0].partitions[0]


@pytest.mark.parametrize("version", [2, 3, 4])
def test_current_epoch_ends_at_the_end_of_the_log(connection: Connection, topic: str, version: int):
    append(connection, topic, batch(b"a", b"b"))

    answer = end_of_epoch(connection, topic, 0, version=version)

    assert answer.error_code == ErrorCode.none
    assert (answer.leader_epoch, answer.end_offset) == (0, 2)


def test_epoch_of_the_future_has_no_end(connection: Connection, topic: str):
    append(connection, topic, batch(b"a"))

    answer = end_of_epoch(connection, topic, 7)

    assert (answer.error_code, answer.leader_epoch, answer.end_offset) == (ErrorCode.none, -1, -1)


def test_epoch_of_the_client_is_checked(connection: Connection, topic: str):
    assert end_of_epoch(connection, topic, 0, current=0).error_code == ErrorCode.none
    assert (
        end_of_epoch(connection, topic, 0, current=3).error_code == ErrorCode.unknown_leader_epoch
    )


def test_unknown_topic_and_partition(connection: Connection, topic: str, name: str):
    unknown = ErrorCode.unknown_topic_or_partition

    assert end_of_epoch(connection, name, 0).error_code == unknown
    assert end_of_epoch(connection, topic, 0, partition=9).error_code == unknown
