"""AddPartitionsToTxn and AddOffsetsToTxn: what a transaction takes part in."""

from collections.abc import Callable
from typing import Any

import pytest

from conformance.conftest import NewTopic
from conformance.raw import Connection, ErrorCode
from conformance.transactional import OLD, Transactional, describe, state_of

NONE = ErrorCode.none
FENCED_BY_VERSION = [
    (0, ErrorCode.invalid_producer_epoch),
    (1, ErrorCode.invalid_producer_epoch),
    (2, ErrorCode.producer_fenced),
    (3, ErrorCode.producer_fenced),
]


@pytest.fixture
def producer(connection: Connection, name: str) -> Transactional:
    return Transactional(connection, name, OLD).start()


def partitions_of(connection: Connection, transactional_id: str) -> set[tuple[str, int]]:
    described = describe(connection, transactional_id)
    return {(topic.topic, index) for topic in described.topics for index in topic.partitions}


@pytest.mark.parametrize("version", range(4))
def test_first_partition_begins_the_transaction(
    connection: Connection, topic: str, producer: Transactional, version: int
):
    assert state_of(connection, producer.transactional_id) == "Empty"

    assert producer.add((topic, 0), version=version) == [NONE]

    assert state_of(connection, producer.transactional_id) == "Ongoing"
    assert partitions_of(connection, producer.transactional_id) == {(topic, 0)}


def test_partitions_add_up(connection: Connection, new_topic: NewTopic, producer: Transactional):
    one, two = new_topic(partitions=3), new_topic()

    assert producer.add((one, 0), (one, 2)) == [NONE, NONE]
    assert producer.add((one, 0), (two, 0)) == [NONE, NONE]

    assert partitions_of(connection, producer.transactional_id) == {(one, 0), (one, 2), (two, 0)}


def test_all_or_nothing_is_added(connection: Connection, topic: str, producer: Transactional):
    codes = producer.add((topic, 0), ("no-such-topic", 0), (topic, 7))

    assert codes == [
        ErrorCode.operation_not_attempted,
        ErrorCode.unknown_topic_or_partition,
        ErrorCode.unknown_topic_or_partition,
    ]
    assert state_of(connection, producer.transactional_id) == "Empty"


def test_internal_topics_are_not_for_clients(producer: Transactional):
    codes = producer.add(("__consumer_offsets", 0))

    assert codes == [ErrorCode.topic_authorization_failed]


@pytest.mark.parametrize(("version", "error"), FENCED_BY_VERSION)
def test_fenced_client_adds_nothing(
    connection: Connection, topic: str, producer: Transactional, version: int, error: ErrorCode
):
    Transactional(connection, producer.transactional_id).start()

    assert producer.add((topic, 0), version=version) == [error]
    assert state_of(connection, producer.transactional_id) == "Empty"


def test_strangers_add_nothing(topic: str, producer: Transactional):
    producer.producer_id += 1
    assert producer.add((topic, 0)) == [ErrorCode.invalid_producer_id_mapping]
    producer.transactional_id = "nobody"
    assert producer.add((topic, 0)) == [ErrorCode.invalid_producer_id_mapping]
    producer.transactional_id = ""
    assert producer.add((topic, 0)) == [ErrorCode.invalid_request]


@pytest.mark.parametrize("version", range(5))
def test_offsets_take_part_as_a_partition_of_their_topic(
    connection: Connection, group: str, producer: Transactional, version: int
):
    assert producer.add_offsets(group, version) == NONE

    assert state_of(connection, producer.transactional_id) == "Ongoing"
    ((topic, _),) = partitions_of(connection, producer.transactional_id)
    assert topic == "__consumer_offsets"


@pytest.mark.parametrize(("version", "error"), FENCED_BY_VERSION)
def test_fenced_client_adds_no_offsets(
    connection: Connection, group: str, producer: Transactional, version: int, error: ErrorCode
):
    Transactional(connection, producer.transactional_id).start()

    assert producer.add_offsets(group, version) == error


def test_strangers_add_no_offsets(group: str, producer: Transactional):
    producer.producer_id += 1
    assert producer.add_offsets(group) == ErrorCode.invalid_producer_id_mapping
    producer.transactional_id = "nobody"
    assert producer.add_offsets(group) == ErrorCode.invalid_producer_id_mapping
    producer.transactional_id = ""
    assert producer.add_offsets(group) == ErrorCode.invalid_request


# Versions of brokers


def add_for(
    connection: Connection, version: int, *transactions: dict[str, Any]
) -> dict[str, list[ErrorCode]]:
    response = connection.request("add_partitions_to_txn", version, transactions=transactions)
    assert response.error_code == NONE
    return {
        each.transactional_id: [
            partition.partition_error_code
            for topic in each.topic_results
            for partition in sorted(topic.results_by_partition, key=lambda it: it.partition_index)
        ]
        for each in response.results_by_transaction
    }


def transaction(
    producer: Transactional, topic: str, *partitions: int, verify_only: bool = False
) -> dict[str, Any]:
    return {
        "transactional_id": producer.transactional_id,
        "producer_id": producer.producer_id,
        "producer_epoch": producer.epoch,
        "verify_only": verify_only,
        "topics": [{"name": topic, "partitions": partitions}],
    }


@pytest.mark.parametrize("version", [4, 5])
def test_several_transactions_in_one_request(
    connection: Connection, new_topic: NewTopic, name: str, version: int
):
    topic = new_topic(partitions=2)
    one, two, zombie = (
        Transactional(connection, f"{name}-{number}", OLD).start() for number in range(3)
    )
    Transactional(connection, zombie.transactional_id).start()

    codes = add_for(
        connection,
        version,
        transaction(one, topic, 0, 1),
        transaction(two, topic, 1),
        transaction(zombie, topic, 0),
    )

    assert codes == {
        one.transactional_id: [NONE, NONE],
        two.transactional_id: [NONE],
        zombie.transactional_id: [ErrorCode.producer_fenced],
    }
    assert partitions_of(connection, one.transactional_id) == {(topic, 0), (topic, 1)}


def test_partitions_can_be_verified(
    connection: Connection, new_topic: NewTopic, producer: Transactional
):
    topic = new_topic(partitions=2)
    producer.add((topic, 0))

    codes = add_for(connection, 4, transaction(producer, topic, 0, 1, verify_only=True))

    assert codes[producer.transactional_id] == [NONE, ErrorCode.transaction_abortable]
    assert partitions_of(connection, producer.transactional_id) == {(topic, 0)}


NewProducer = Callable[..., Transactional]


def test_next_transaction_begins_empty(
    connection: Connection, new_topic: NewTopic, transactional: NewProducer
):
    one, two = new_topic(), new_topic()
    producer = transactional()
    producer.send(one, b"a")
    producer.commit()
    producer.send(two, b"b")

    assert partitions_of(connection, producer.transactional_id) == {(two, 0)}
