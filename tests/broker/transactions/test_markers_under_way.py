"""EndTxn is answered before the markers are written; nobody can tell, because who could has to wait."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from typing import Any

import pytest

from broker.calls import create_topic
from conformance.raw import Connection, ErrorCode
from conformance.transactional import NEW, OLD, Dialect, Transactional
from headwater.broker.groups.records import TopicPartition
from headwater.broker.transactions.markers import PartitionMarkers
from headwater.broker.transactions.transaction import Transaction
from headwater.errors import HeadwaterError
from headwater.log.partition import Appended, PartitionLog
from headwater.testing import Broker


class Markers:
    """Markers are written at once, until they are held; then when they are released."""

    def __init__(self) -> None:
        self._may_write = threading.Event()
        self.release()

    def hold(self) -> None:
        self._may_write.clear()

    def release(self) -> None:
        self._may_write.set()

    async def wait(self) -> None:
        await asyncio.to_thread(self._may_write.wait)


@pytest.fixture
def markers(monkeypatch: pytest.MonkeyPatch) -> Markers:
    made, write = Markers(), PartitionMarkers.write

    async def write_when_released(
        self: PartitionMarkers, transaction: Transaction, partitions: AbstractSet[TopicPartition]
    ) -> dict[TopicPartition, HeadwaterError]:
        await made.wait()
        return await write(self, transaction, partitions)

    monkeypatch.setattr(PartitionMarkers, "write", write_when_released)
    return made


@pytest.fixture
def broker(markers: Markers) -> Iterator[Broker]:
    with Broker() as started:
        create_topic(started, "orders")
        yield started
        markers.release()


@pytest.fixture
def connection(broker: Broker) -> Iterator[Connection]:
    with Connection(broker.bootstrap) as connected:
        yield connected


@pytest.fixture
def other(broker: Broker) -> Iterator[Connection]:
    with Connection(broker.bootstrap) as connected:
        yield connected


def committed(connection: Connection, markers: Markers, dialect: Dialect) -> Transactional:
    """A client that was told of its commit before there is a marker."""
    client = Transactional(connection, "x", dialect).start()
    client.send("orders", b"1", b"2")
    end_while_held(client, markers)
    return client


def end_while_held(client: Transactional, markers: Markers) -> None:
    markers.hold()
    ended = client.end(commit=True)
    assert ended.error_code == ErrorCode.none
    if client.dialect.bumps_epochs:
        client.producer_id, client.epoch = ended.producer_id, ended.producer_epoch
        client.sequences.clear()
    client.added.clear()


@pytest.fixture
def let_the_broker_look(other: Connection) -> Callable[[], None]:
    """What was sent before this has been seen by the broker's loop."""
    return lambda: other.request("metadata", 9, topics=[])


def send_records(connection: Connection, records: bytes) -> None:
    connection.send(
        "produce",
        NEW.produce,
        acks=-1,
        timeout=10_000,
        transactional_id="x",
        topic_data=[{"name": "orders", "partition_data": [{"index": 0, "records": records}]}],
    )


def ask_end(connection: Connection) -> None:
    partitions = [{"partition_index": 0, "timestamp": -1}]
    connection.send(
        "list_offsets",
        7,
        isolation_level=1,
        topics=[{"name": "orders", "partitions": partitions}],
    )


def end_in(answer: Any) -> int:
    return int(answer.topics[0].partitions[0].offset)


def test_markers_do_not_keep_the_answer_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """One for each partition, appended by the loop that sends the answer."""
    answered: list[bool] = []
    end = PartitionLog.end_transaction

    def look_first(log: PartitionLog, *given: Any, **named: Any) -> Appended:
        answered.append("EndTxn" in broker.embedded.traffic.apis)
        return end(log, *given, **named)

    monkeypatch.setattr(PartitionLog, "end_transaction", look_first)
    with Broker() as broker, Connection(broker.bootstrap) as connection:
        create_topic(broker, "orders")
        client = Transactional(connection, "x", OLD).start()
        client.send("orders", b"1", b"2")
        client.commit()
    assert answered == [True]


@pytest.mark.parametrize("dialect", [OLD, NEW])
def test_who_committed_and_asks_for_the_end_finds_the_records(
    connection: Connection,
    markers: Markers,
    dialect: Dialect,
    let_the_broker_look: Callable[[], None],
) -> None:
    committed(connection, markers, dialect)
    ask_end(connection)
    let_the_broker_look()
    markers.release()
    assert end_in(connection.receive()) == 3


def test_who_committed_offsets_and_asks_for_them_finds_them(
    connection: Connection, markers: Markers, let_the_broker_look: Callable[[], None]
) -> None:
    client = Transactional(connection, "x", NEW).start()
    client.send_offset("g", "orders", 7)
    end_while_held(client, markers)
    topics = [{"name": "orders", "partition_indexes": [0]}]
    connection.send("offset_fetch", 8, groups=[{"group_id": "g", "topics": topics}])
    let_the_broker_look()
    markers.release()
    found = connection.receive().groups[0].topics[0].partitions[0]
    assert (found.committed_offset, found.error_code) == (7, ErrorCode.none)


def test_the_next_records_wait_for_the_marker_and_stay_in_order(
    connection: Connection, markers: Markers, let_the_broker_look: Callable[[], None]
) -> None:
    client = committed(connection, markers, NEW)
    for sequence in range(3):
        send_records(connection, client.records(b"n", sequence=sequence))
    let_the_broker_look()
    markers.release()
    answers = [connection.receive().responses[0].partition_responses[0] for _ in range(3)]
    assert [(each.error_code, each.base_offset) for each in answers] == [
        (ErrorCode.none, 3),
        (ErrorCode.none, 4),
        (ErrorCode.none, 5),
    ]


def test_the_next_transaction_of_an_old_client_waits_for_the_marker(
    connection: Connection, markers: Markers, let_the_broker_look: Callable[[], None]
) -> None:
    client = committed(connection, markers, OLD)
    connection.send(
        "add_partitions_to_txn",
        3,
        v3_and_below_transactional_id="x",
        v3_and_below_producer_id=client.producer_id,
        v3_and_below_producer_epoch=client.epoch,
        v3_and_below_topics=[{"name": "orders", "partitions": [0]}],
    )
    let_the_broker_look()
    markers.release()
    (topic,) = connection.receive().results_by_topic_v3_and_below
    assert topic.results_by_partition[0].partition_error_code == ErrorCode.none


def test_a_client_that_goes_away_while_it_is_held_back_takes_nobody_along(
    broker: Broker,
    connection: Connection,
    markers: Markers,
    let_the_broker_look: Callable[[], None],
) -> None:
    client = committed(connection, markers, NEW)
    with Connection(broker.bootstrap) as leaving:
        send_records(leaving, client.records(b"gone"))
        let_the_broker_look()
    markers.release()
    client.send("orders", b"here")
    client.commit()


def send_for_group(connection: Connection, client: Transactional, api: str, **fields: Any) -> None:
    connection.send(
        api,
        client.dialect.offsets,
        transactional_id="x",
        producer_id=client.producer_id,
        producer_epoch=client.epoch,
        group_id="g",
        **fields,
    )


def test_a_group_joins_the_next_transaction_after_the_marker(
    connection: Connection, markers: Markers, let_the_broker_look: Callable[[], None]
) -> None:
    client = committed(connection, markers, OLD)
    send_for_group(connection, client, "add_offsets_to_txn")
    let_the_broker_look()
    markers.release()
    assert connection.receive().error_code == ErrorCode.none


def test_offsets_of_the_next_transaction_wait_for_the_marker(
    connection: Connection, markers: Markers, let_the_broker_look: Callable[[], None]
) -> None:
    client = committed(connection, markers, NEW)
    offset = {"partition_index": 0, "committed_offset": 7, "committed_metadata": ""}
    topics = [{"name": "orders", "partitions": [offset]}]
    send_for_group(connection, client, "txn_offset_commit", topics=topics)
    let_the_broker_look()
    markers.release()
    assert connection.receive().topics[0].partitions[0].error_code == ErrorCode.none
