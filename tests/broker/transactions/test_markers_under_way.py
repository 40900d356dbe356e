"""EndTxn is answered before the markers are written; nobody can tell, because who could has to wait."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from broker.calls import create_topic
from broker.slow_disk import SlowDisk
from conformance.raw import Connection, ErrorCode
from conformance.transactional import NEW, OLD, Dialect, Transactional
from headwater.testing import Broker

OFFSETS = "__consumer_offsets"


@pytest.fixture
def disk() -> Iterator[SlowDisk]:
    made = SlowDisk()
    yield made
    made.release()


@pytest.fixture
def broker(disk: SlowDisk) -> Iterator[Broker]:
    with Broker(disk=disk) as started:
        create_topic(started, "orders")
        yield started
        disk.release()


@pytest.fixture
def connection(broker: Broker) -> Iterator[Connection]:
    with Connection(broker.bootstrap) as connected:
        yield connected


@pytest.fixture
def other(broker: Broker) -> Iterator[Connection]:
    with Connection(broker.bootstrap) as connected:
        yield connected


def committed(connection: Connection, disk: SlowDisk, dialect: Dialect) -> Transactional:
    """A client that was told of its commit; the marker waits for the disk."""
    client = Transactional(connection, "x", dialect).start()
    client.send("orders", b"1", b"2")
    end_while_held(client, disk, "orders")
    return client


def end_while_held(client: Transactional, disk: SlowDisk, topic: str) -> None:
    disk.hold(topic)
    ended = client.end(commit=True)
    assert ended.error_code == ErrorCode.none
    assert disk.is_waiting.wait(30)
    if client.dialect.bumps_epochs:
        client.producer_id, client.epoch = ended.producer_id, ended.producer_epoch
        client.sequences.clear()
    client.added.clear()


@pytest.fixture
def let_the_broker_look(other: Connection) -> Callable[[], None]:
    """What was sent before this has been seen by the broker's loop."""
    return lambda: other.request("metadata", 9, topics=[])


def ask_end(connection: Connection, isolation_level: int) -> None:
    partitions = [{"partition_index": 0, "timestamp": -1}]
    connection.send(
        "list_offsets",
        7,
        isolation_level=isolation_level,
        topics=[{"name": "orders", "partitions": partitions}],
    )


def end_in(answer: Any) -> int:
    return int(answer.topics[0].partitions[0].offset)


@pytest.mark.parametrize("dialect", [OLD, NEW])
def test_who_committed_and_asks_for_the_end_finds_the_records(
    connection: Connection,
    disk: SlowDisk,
    dialect: Dialect,
    let_the_broker_look: Callable[[], None],
) -> None:
    committed(connection, disk, dialect)
    ask_end(connection, isolation_level=1)
    let_the_broker_look()
    disk.release()
    assert end_in(connection.receive()) == 3


def test_who_committed_offsets_and_asks_for_them_finds_them(
    connection: Connection, disk: SlowDisk, let_the_broker_look: Callable[[], None]
) -> None:
    client = Transactional(connection, "x", NEW).start()
    client.send_offset("g", "orders", 7)
    end_while_held(client, disk, OFFSETS)
    topics = [{"name": "orders", "partition_indexes": [0]}]
    connection.send("offset_fetch", 8, groups=[{"group_id": "g", "topics": topics}])
    let_the_broker_look()
    disk.release()
    found = connection.receive().groups[0].topics[0].partitions[0]
    assert (found.committed_offset, found.error_code) == (7, ErrorCode.none)


def test_the_next_records_wait_for_the_marker_and_stay_in_order(
    connection: Connection, disk: SlowDisk, let_the_broker_look: Callable[[], None]
) -> None:
    client = committed(connection, disk, NEW)
    for sequence in range(3):
        records = client.records(b"n", sequence=sequence)
        connection.send(
            "produce",
            NEW.produce,
            acks=-1,
            timeout=10_000,
            transactional_id="x",
            topic_data=[{"name": "orders", "partition_data": [{"index": 0, "records": records}]}],
        )
    let_the_broker_look()
    disk.release()
    answers = [connection.receive().responses[0].partition_responses[0] for _ in range(3)]
    assert [(each.error_code, each.base_offset) for each in answers] == [
        (ErrorCode.none, 3),
        (ErrorCode.none, 4),
        (ErrorCode.none, 5),
    ]


def test_the_next_transaction_of_an_old_client_waits_for_the_marker(
    connection: Connection, disk: SlowDisk, let_the_broker_look: Callable[[], None]
) -> None:
    client = committed(connection, disk, OLD)
    connection.send(
        "add_partitions_to_txn",
        3,
        v3_and_below_transactional_id="x",
        v3_and_below_producer_id=client.producer_id,
        v3_and_below_producer_epoch=client.epoch,
        v3_and_below_topics=[{"name": "orders", "partitions": [0]}],
    )
    let_the_broker_look()
    disk.release()
    (topic,) = connection.receive().results_by_topic_v3_and_below
    assert topic.results_by_partition[0].partition_error_code == ErrorCode.none


def test_a_client_that_goes_away_while_it_is_held_back_takes_nobody_along(
    broker: Broker, connection: Connection, disk: SlowDisk, let_the_broker_look: Callable[[], None]
) -> None:
    client = committed(connection, disk, NEW)
    with Connection(broker.bootstrap) as leaving:
        leaving.send(
            "produce",
            NEW.produce,
            acks=-1,
            timeout=10_000,
            transactional_id="x",
            topic_data=[
                {
                    "name": "orders",
                    "partition_data": [{"index": 0, "records": client.records(b"gone")}],
                }
            ],
        )
        let_the_broker_look()
    disk.release()
    client.send("orders", b"here")
    client.commit()
