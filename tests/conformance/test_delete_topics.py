"""DeleteTopics: by name and by id; what is gone is gone."""

from uuid import uuid4

import pytest

from conformance.batches import batch
from conformance.calls import (
    append,
    create_topic,
    eventually,
    list_offset,
    topic_id,
    topic_metadata,
)
from conformance.raw import Connection, ErrorCode


def is_gone(connection: Connection, name: str) -> bool:
    return topic_metadata(connection, name).error_code == ErrorCode.unknown_topic_or_partition


@pytest.mark.parametrize("version", range(1, 6))
def test_deletes_by_name_in_every_version(connection: Connection, topic: str, version: int):
    response = connection.request("delete_topics", version, topic_names=[topic], timeout=10_000)

    (answer,) = response.responses
    assert (answer.name, answer.error_code) == (topic, ErrorCode.none)
    eventually(lambda: is_gone(connection, topic))


def test_version_6_deletes_by_name(connection: Connection, topic: str):
    identity = topic_id(connection, topic)

    response = connection.request("delete_topics", 6, topics=[{"name": topic}], timeout=10_000)

    (answer,) = response.responses
    assert (answer.name, answer.topic_id, answer.error_code) == (topic, identity, ErrorCode.none)
    eventually(lambda: is_gone(connection, topic))


def test_version_6_deletes_by_id(connection: Connection, topic: str):
    identity = topic_id(connection, topic)

    response = connection.request(
        "delete_topics", 6, topics=[{"name": None, "topic_id": identity}], timeout=10_000
    )

    (answer,) = response.responses
    assert (answer.name, answer.topic_id, answer.error_code) == (topic, identity, ErrorCode.none)
    eventually(lambda: is_gone(connection, topic))


def test_unknown_name(connection: Connection, name: str):
    response = connection.request("delete_topics", 6, topics=[{"name": name}], timeout=10_000)

    (answer,) = response.responses
    assert (answer.name, answer.error_code) == (name, ErrorCode.unknown_topic_or_partition)
    assert answer.error_message


def test_unknown_id(connection: Connection):
    unknown = uuid4()

    response = connection.request(
        "delete_topics", 6, topics=[{"name": None, "topic_id": unknown}], timeout=10_000
    )

    (answer,) = response.responses
    assert answer.error_code == ErrorCode.unknown_topic_id
    assert (answer.name, answer.topic_id) == (None, unknown)


def test_name_and_id_together_are_refused(connection: Connection, topic: str):
    identity = topic_id(connection, topic)

    response = connection.request(
        "delete_topics", 6, topics=[{"name": topic, "topic_id": identity}], timeout=10_000
    )

    assert response.responses[0].error_code == ErrorCode.invalid_request
    assert not is_gone(connection, topic)


def test_one_unknown_topic_does_not_spoil_the_others(connection: Connection, topic: str, name: str):
    response = connection.request("delete_topics", 5, topic_names=[name, topic], timeout=10_000)

    assert {answer.name: answer.error_code for answer in response.responses} == {
        name: ErrorCode.unknown_topic_or_partition,
        topic: ErrorCode.none,
    }


def test_records_do_not_come_back_with_a_new_topic_of_the_name(connection: Connection, topic: str):
    append(connection, topic, batch(b"a", b"b"))
    connection.request("delete_topics", 5, topic_names=[topic], timeout=10_000)
    eventually(lambda: is_gone(connection, topic))

    create_topic(connection, topic)

    assert list_offset(connection, topic, -1).offset == 0
