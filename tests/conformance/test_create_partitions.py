"""CreatePartitions: topics grow, and never shrink."""

from typing import Any

import pytest

from conformance.batches import batch
from conformance.calls import append, await_topic, list_offset, topic_metadata
from conformance.raw import Connection, ErrorCode


def grow(connection: Connection, *topics: dict[str, Any], **fields: Any) -> list[Any]:
    response = connection.request("create_partitions", 3, topics=topics, timeout=10_000, **fields)
    return response.results


def to(name: str, count: int, assignments: list[dict[str, Any]] | None = None) -> dict[str, Any]:
    return {"name": name, "count": count, "assignments": assignments}


@pytest.mark.parametrize("version", range(4))
def test_grows_in_every_version(connection: Connection, topic: str, version: int):
    append(connection, topic, batch(b"kept"))

    response = connection.request(
        "create_partitions", version, topics=[to(topic, 3)], timeout=10_000
    )

    (result,) = response.results
    assert (result.name, result.error_code) == (topic, ErrorCode.none)
    await_topic(connection, topic, 3)
    assert len(topic_metadata(connection, topic).partitions) == 3
    assert list_offset(connection, topic, -1, partition=0).offset == 1
    assert append(connection, topic, batch(b"new"), partition=2) == 0


@pytest.mark.parametrize("count", [1, 0, -1])
def test_count_that_is_not_larger_is_refused(connection: Connection, topic: str, count: int):
    (result,) = grow(connection, to(topic, count))

    assert (result.name, result.error_code) == (topic, ErrorCode.invalid_partitions)
    assert result.error_message


def test_unknown_topic(connection: Connection, name: str):
    (result,) = grow(connection, to(name, 3))

    assert (result.name, result.error_code) == (name, ErrorCode.unknown_topic_or_partition)


def test_validate_only_changes_nothing(connection: Connection, topic: str):
    (result,) = grow(connection, to(topic, 3), validate_only=True)

    assert (result.name, result.error_code) == (topic, ErrorCode.none)
    assert len(topic_metadata(connection, topic).partitions) == 1


def test_topic_named_twice_is_refused(connection: Connection, topic: str):
    results = grow(connection, to(topic, 2), to(topic, 3))

    assert [(result.name, result.error_code) for result in results] == [
        (topic, ErrorCode.invalid_request)
    ]
    assert len(topic_metadata(connection, topic).partitions) == 1


def test_assignment_of_the_new_partitions(connection: Connection, topic: str):
    node = connection.request("metadata", 12, topics=[]).brokers[0].node_id

    (result,) = grow(connection, to(topic, 2, [{"broker_ids": [node]}]))

    assert result.error_code == ErrorCode.none
    await_topic(connection, topic, 2)


@pytest.mark.parametrize("brokers", [[[999]], [[1], [1]]])
def test_assignment_that_does_not_fit_is_refused(
    connection: Connection, topic: str, brokers: list[list[int]]
):
    (result,) = grow(connection, to(topic, 2, [{"broker_ids": ids} for ids in brokers]))

    assert result.error_code == ErrorCode.invalid_replica_assignment
