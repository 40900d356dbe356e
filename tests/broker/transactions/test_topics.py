"""What a transaction takes part in: never the broker's own topics, and topics may go meanwhile."""

import pytest

from conformance.batches import Codec
from conformance.raw import Connection, ErrorCode
from conformance.transactional import (
    NEW,
    OLD,
    Transactional,
    committed_fetch,
    committed_values,
    describe,
    state_of,
)
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


def test_transaction_ends_although_one_of_its_topics_was_deleted(
    broker: Broker, producer: Transactional
) -> None:
    broker.create_topic("fleeting")
    producer.send("fleeting", b"gone")
    producer.send("orders", b"stays")
    producer.connection.request("delete_topics", 4, topic_names=["fleeting"], timeout=10_000)

    producer.commit()

    assert committed_values(producer.connection, "orders") == [b"stays"]


def test_topic_that_was_deleted_and_made_again_is_not_held_up(
    broker: Broker, producer: Transactional
) -> None:
    producer.send("orders", b"gone")
    producer.connection.request("delete_topics", 4, topic_names=["orders"], timeout=10_000)
    broker.create_topic("orders")

    producer.commit()

    answer = committed_fetch(producer.connection, "orders")
    assert answer.last_stable_offset == answer.high_watermark
    assert committed_values(producer.connection, "orders") == []


def test_idle_ids_are_forgotten_however_long_they_are(broker: Broker) -> None:
    async def scenario() -> int:
        transactions = broker.embedded.transactions
        for number in range(40):
            await transactions.initialize(f"{number}".rjust(30_000, "x"), 1000, None)
        in_a_month_ms = broker.embedded.clock.now_ms() + 30 * 86_400_000
        return await transactions.expire_ids(in_a_month_ms)

    assert broker.call(scenario) == 40
    broker.restart()
    assert list(broker.embedded.transactions) == []
