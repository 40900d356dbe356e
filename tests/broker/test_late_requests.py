"""Requests of a client that gave up on its connection: they cannot touch a later transaction.

Apache Kafka takes them for requests of the present transaction, if the client is older than KIP-890.
"""

from collections.abc import Iterator

import pytest

from conformance.raw import Connection, ErrorCode
from conformance.transactional import OLD, Transactional, committed_values, state_of
from headwater.testing import Broker


@pytest.fixture
def connections(broker: Broker) -> Iterator[tuple[Connection, Connection]]:
    """An old connection and a newer one."""
    broker.create_topic("orders")
    broker.create_topic("input")
    with Connection(broker.bootstrap) as old, Connection(broker.bootstrap) as new:
        # Both are accepted, in this order.
        old.request("api_versions", 0)
        new.request("api_versions", 0)
        yield old, new


@pytest.fixture
def producer(connections: tuple[Connection, Connection]) -> Transactional:
    """A client that began on the old connection, and has gone over to the new one."""
    old, new = connections
    producer = Transactional(old, "app", OLD).start()
    producer.send("orders", b"first")
    producer.connection = new
    producer.commit()
    producer.send("orders", b"second")
    return producer


@pytest.mark.parametrize("commit", [True, False])
def test_delayed_end_txn_does_not_end_a_later_transaction(
    connections: tuple[Connection, Connection], producer: Transactional, commit: bool
) -> None:
    old, new = connections
    late = Transactional(old, "app", OLD, producer_id=producer.producer_id, epoch=producer.epoch)

    with pytest.raises(ConnectionError):
        late.end(commit=commit)

    assert state_of(new, "app") == "Ongoing"
    assert committed_values(new, "orders") == [b"first"]
    producer.send("orders", b"third")
    producer.commit()
    assert committed_values(new, "orders") == [b"first", b"second", b"third"]


@pytest.mark.parametrize("version", [3, 5])
def test_delayed_add_partitions_does_not_begin_a_transaction(
    connections: tuple[Connection, Connection], producer: Transactional, version: int
) -> None:
    old, new = connections
    producer.commit()
    late = Transactional(old, "app", OLD, producer_id=producer.producer_id, epoch=producer.epoch)

    with pytest.raises(ConnectionError):
        late.add(("orders", 0), version=version)

    assert state_of(new, "app") == "CompleteCommit"


def test_delayed_produce_does_not_become_part_of_a_later_transaction(
    connections: tuple[Connection, Connection], producer: Transactional
) -> None:
    old, new = connections
    late = Transactional(old, "app", OLD, producer_id=producer.producer_id, epoch=producer.epoch)

    with pytest.raises(ConnectionError):
        late.produce("orders", late.records(b"late", sequence=2))

    producer.commit()
    assert committed_values(new, "orders") == [b"first", b"second"]


def test_delayed_offset_does_not_replace_a_later_one(
    connections: tuple[Connection, Connection], producer: Transactional
) -> None:
    old, new = connections
    producer.send_offset("billing", "input", 20)
    late = Transactional(old, "app", OLD, producer_id=producer.producer_id, epoch=producer.epoch)

    with pytest.raises(ConnectionError):
        late.commit_offset("billing", "input", 10)

    producer.commit()
    response = new.request(
        "offset_fetch",
        7,
        group_id="billing",
        topics=[{"name": "input", "partition_indexes": [0]}],
    )
    assert response.topics[0].partitions[0].committed_offset == 20


def test_client_that_was_closed_goes_on_with_a_new_connection(
    broker: Broker, producer: Transactional
) -> None:
    """One that has two connections loses a round trip, nothing else."""
    with Connection(broker.bootstrap) as newest:
        producer.connection = newest
        producer.commit()
        producer.send("orders", b"third")
        producer.commit()
        assert committed_values(newest, "orders") == [b"first", b"second", b"third"]


def test_late_request_is_not_counted_as_malformed(
    broker: Broker, connections: tuple[Connection, Connection], producer: Transactional
) -> None:
    old, _ = connections
    late = Transactional(old, "app", OLD, producer_id=producer.producer_id, epoch=producer.epoch)
    with pytest.raises(ConnectionError):
        late.end(commit=True)

    async def malformed() -> int:
        return broker.embedded.traffic.malformed_requests

    assert broker.call(malformed) == 0


def test_new_clients_are_told_apart_by_epochs_alone(
    connections: tuple[Connection, Connection],
) -> None:
    old, new = connections
    producer = Transactional(new, "new app").start()
    producer.send("orders", b"a")
    response = Transactional(
        old, "new app", producer_id=producer.producer_id, epoch=producer.epoch
    ).end(commit=True)

    assert response.error_code == ErrorCode.none
