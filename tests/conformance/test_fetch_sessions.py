"""Incremental fetch sessions (KIP-227): the client says what changed, and so does the broker."""

from dataclasses import dataclass
from typing import Any

import pytest

from conformance.batches import batch, records_of
from conformance.calls import append, fetch_fields, partition_to_fetch, topic_id
from conformance.conftest import NewTopic
from conformance.raw import Connection, ErrorCode

FULL, FINAL = 0, -1


@dataclass
class Session:
    """A client with a session: the epoch goes up with each request."""

    connection: Connection
    session_id: int = 0
    epoch: int = FULL

    def fetch(
        self,
        *topics: dict[str, Any],
        forget: dict[str, list[int]] | None = None,
        epoch: int | None = None,
    ) -> Any:
        response = self.connection.request(
            "fetch",
            12,
            **fetch_fields(
                *topics,
                session_id=self.session_id,
                session_epoch=self.epoch if epoch is None else epoch,
                forgotten_topics_data=[
                    {"topic": name, "partitions": partitions}
                    for name, partitions in (forget or {}).items()
                ],
            ),
        )
        if response.error_code == ErrorCode.none:
            self.session_id = response.session_id
            self.epoch += 1
        return response


def answers(response: Any) -> dict[int, list[bytes | None]]:
    """The values of each partition that the response mentions."""
    return {
        answer.partition_index: [record.value for record in records_of(answer.records)]
        for answered in response.responses
        for answer in answered.partitions
    }


@pytest.fixture
def topic(new_topic: NewTopic) -> str:
    return new_topic(partitions=3)


@pytest.fixture
def session(connection: Connection, topic: str) -> Session:
    """A session on all three partitions, from offset 0, all empty."""
    session = Session(connection)
    session.fetch(*(partition_to_fetch(topic, 0, partition) for partition in range(3)))
    return session


def test_first_fetch_creates_a_session_and_mentions_every_partition(
    connection: Connection, topic: str
):
    session = Session(connection)

    response = session.fetch(*(partition_to_fetch(topic, 0, partition) for partition in range(3)))

    assert response.session_id > 0
    assert answers(response) == {0: [], 1: [], 2: []}


def test_fetch_without_a_session_has_none(connection: Connection, topic: str):
    response = connection.request("fetch", 12, **fetch_fields(partition_to_fetch(topic, 0)))

    assert response.session_id == 0


def test_sessions_have_different_ids(connection: Connection, topic: str):
    first, second = Session(connection), Session(connection)
    first.fetch(partition_to_fetch(topic, 0))
    second.fetch(partition_to_fetch(topic, 0))

    assert first.session_id != second.session_id


def test_incremental_fetch_mentions_only_partitions_with_news(
    connection: Connection, session: Session, topic: str
):
    assert answers(session.fetch()) == {}
    append(connection, topic, batch(b"a"), partition=1)

    response = session.fetch()

    assert response.session_id == session.session_id
    assert answers(response) == {1: [b"a"]}


def test_partition_without_a_new_position_is_read_again(
    connection: Connection, session: Session, topic: str
):
    append(connection, topic, batch(b"a"), partition=1)
    session.fetch()

    assert answers(session.fetch()) == {1: [b"a"]}


def test_new_position_is_remembered(connection: Connection, session: Session, topic: str):
    append(connection, topic, batch(b"a"), partition=1)
    session.fetch()

    assert answers(session.fetch(partition_to_fetch(topic, 1, 1))) == {}
    append(connection, topic, batch(b"b"), partition=1)
    assert answers(session.fetch()) == {1: [b"b"]}


def test_partition_can_be_added(connection: Connection, topic: str):
    session = Session(connection)
    session.fetch(partition_to_fetch(topic, 0, 0))
    append(connection, topic, batch(b"a"), partition=2)

    assert answers(session.fetch(partition_to_fetch(topic, 0, 2))) == {2: [b"a"]}


def test_added_partition_is_mentioned_even_without_news(connection: Connection, topic: str):
    session = Session(connection)
    session.fetch(partition_to_fetch(topic, 0, 0))

    assert answers(session.fetch(partition_to_fetch(topic, 0, 2))) == {2: []}


def test_forgotten_partition_is_not_read_any_more(
    connection: Connection, session: Session, topic: str
):
    append(connection, topic, batch(b"a"), partition=1)
    append(connection, topic, batch(b"b"), partition=2)

    assert answers(session.fetch(forget={topic: [1]})) == {2: [b"b"]}


@pytest.mark.parametrize("epoch", [FULL, FINAL])
def test_full_fetch_forgets_nothing(connection: Connection, topic: str, epoch: int):
    asked = partition_to_fetch(topic, 0, 1)

    response = Session(connection).fetch(asked, forget={topic: [1]}, epoch=epoch)

    assert answers(response) == {1: []}


def test_error_is_mentioned_each_time(session: Session, topic: str):
    session.fetch(partition_to_fetch(topic, 99, 0))

    response = session.fetch()

    (answer,) = response.responses[0].partitions
    assert answer.error_code == ErrorCode.offset_out_of_range


def test_wrong_epoch(session: Session):
    response = session.fetch(epoch=7)

    assert response.error_code == ErrorCode.invalid_fetch_session_epoch
    assert response.responses == []


def test_session_survives_a_wrong_epoch(session: Session):
    session.fetch(epoch=7)

    assert session.fetch().error_code == ErrorCode.none


def test_unknown_session(connection: Connection):
    response = Session(connection, session_id=123_456_789, epoch=1).fetch()

    assert response.error_code == ErrorCode.fetch_session_id_not_found
    assert response.responses == []


def test_final_epoch_ends_the_session(session: Session, topic: str):
    closed = Session(session.connection, session.session_id, epoch=2)

    last = session.fetch(partition_to_fetch(topic, 0), epoch=FINAL)

    assert (last.error_code, last.session_id) == (ErrorCode.none, 0)
    assert closed.fetch().error_code == ErrorCode.fetch_session_id_not_found


def test_full_fetch_replaces_the_session(session: Session, topic: str):
    old = session.session_id
    session.epoch = FULL

    response = session.fetch(partition_to_fetch(topic, 0))

    assert response.error_code == ErrorCode.none
    assert response.session_id not in {0, old}
    gone = Session(session.connection, session_id=old, epoch=1)
    assert gone.fetch().error_code == ErrorCode.fetch_session_id_not_found


def test_epoch_goes_up_with_each_request_and_no_request_can_be_repeated(session: Session):
    for _ in range(3):
        assert session.fetch().error_code == ErrorCode.none

    repeated = session.fetch(epoch=session.epoch - 1)
    assert repeated.error_code == ErrorCode.invalid_fetch_session_epoch


def test_session_by_topic_id(connection: Connection, topic: str):
    identity = topic_id(connection, topic)
    topics = [
        {"topic_id": identity, "partitions": partition_to_fetch("", 0, partition)["partitions"]}
        for partition in range(2)
    ]
    first = connection.request("fetch", 13, **fetch_fields(*topics, session_epoch=FULL))
    append(connection, topic, batch(b"a"), partition=1)

    second = connection.request(
        "fetch", 13, **fetch_fields(session_id=first.session_id, session_epoch=1)
    )
    third = connection.request(
        "fetch",
        13,
        **fetch_fields(
            session_id=first.session_id,
            session_epoch=2,
            forgotten_topics_data=[{"topic_id": identity, "partitions": [1]}],
        ),
    )

    assert answers(first) == {0: [], 1: []}
    assert answers(second) == {1: [b"a"]}
    assert answers(third) == {}


def test_session_by_name_does_not_go_on_by_topic_id(connection: Connection, session: Session):
    refused = connection.request(
        "fetch", 13, **fetch_fields(session_id=session.session_id, session_epoch=session.epoch)
    )

    assert refused.error_code == ErrorCode.fetch_session_topic_id_error
    assert session.fetch().error_code == ErrorCode.none
