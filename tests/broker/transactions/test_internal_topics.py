"""The broker's own topics take no part in clients' transactions, whatever a client asks for."""

import pytest

from conformance.batches import Codec
from conformance.raw import Connection, ErrorCode
from conformance.transactional import NEW, OLD, Transactional, describe, state_of
from headwater.testing import Broker

INTERNAL = "__transaction_state"


@pytest.fixture
def producer(broker: Broker):
    broker.create_topic("orders")
    with Connection(broker.bootstrap) as connection:
        yield Transactional(connection, "app", NEW).start()


def test_marker_in_the_transaction_log_is_refused(broker: Broker, producer: Transactional) -> None:
    marker = {
        "producer_id": producer.producer_id,
        "producer_epoch": 0,
        "topics": [{"name": INTERNAL, "partition_indexes": [0]}],
    }
    response = producer.connection.request("write_txn_markers", 1, markers=[marker])
    (written,) = response.markers[0].topics[0].partitions
    assert written.error_code == ErrorCode.unknown_topic_or_partition

    broker.kill()
    broker.start()
    with Connection(broker.bootstrap) as connection:
        assert state_of(connection, "app") == "Empty"


def test_produce_adds_no_internal_topic(producer: Transactional) -> None:
    answer = producer.produce(INTERNAL, producer.records(b"x", codec=Codec.none))

    assert answer.error_code == ErrorCode.invalid_topic_exception
    assert state_of(producer.connection, "app") == "Empty"


def test_only_offsets_are_added_by_brokers(producer: Transactional) -> None:
    def add(topic: str) -> ErrorCode:
        transaction = {
            "transactional_id": "app",
            "producer_id": producer.producer_id,
            "producer_epoch": producer.epoch,
            "topics": [{"name": topic, "partitions": [0]}],
        }
        response = producer.connection.request(
            "add_partitions_to_txn", 4, transactions=[transaction]
        )
        (result,) = response.results_by_transaction[0].topic_results[0].results_by_partition
        return result.partition_error_code

    assert add(INTERNAL) == ErrorCode.topic_authorization_failed
    assert add("__consumer_offsets") == ErrorCode.none
    described = describe(producer.connection, "app")
    assert [each.topic for each in described.topics] == ["__consumer_offsets"]
    producer.dialect = OLD
    producer.commit()
