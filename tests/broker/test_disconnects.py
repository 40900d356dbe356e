"""Clients that go away in the middle: nothing waits for them, and what they began is whole."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from broker.calls import LONG_MS, create_topic, fetch, fetch_data, produce_data, wait_until
from broker.slow_disk import SlowDisk
from conformance.batches import batch
from conformance.raw import Connection
from headwater.testing import Broker


@pytest.fixture
def disk() -> Iterator[SlowDisk]:
    made = SlowDisk()
    yield made
    made.release()


@pytest.fixture
def broker(tmp_path: Path, disk: SlowDisk) -> Iterator[Broker]:
    with Broker(data=tmp_path / "data", disk=disk) as started:
        yield started
        disk.release()


def has_no_connections(broker: Broker) -> None:
    wait_until(broker, lambda: broker.embedded.traffic.connections == 0)


def test_a_long_poll_leaves_no_waiter_behind(broker: Broker) -> None:
    create_topic(broker, "quiet")
    partition = broker.embedded.topics.get("quiet").partitions[0]
    connection = Connection(broker.bootstrap)
    connection.send("fetch", 11, **fetch_data("quiet", max_wait=LONG_MS))
    wait_until(broker, lambda: partition.has_waiting_readers)
    connection.close()
    wait_until(broker, lambda: not partition.has_waiting_readers)
    has_no_connections(broker)


def test_a_produce_that_nobody_waits_for_is_stored(broker: Broker, disk: SlowDisk) -> None:
    create_topic(broker, "orders")
    disk.hold()
    connection = Connection(broker.bootstrap)
    connection.send("produce", 9, **produce_data("orders", batch(b"paid")))
    assert disk.is_waiting.wait(30)
    connection.close()
    has_no_connections(broker)
    disk.release()
    with Connection(broker.bootstrap) as other:
        assert b"paid" in fetch(other, "orders", max_wait=LONG_MS).records


def test_a_member_that_goes_away_while_it_joins_leaves_no_task_behind(broker: Broker) -> None:
    server = broker._server
    assert server is not None
    connection = Connection(broker.bootstrap)
    member = {
        "group_id": "billing",
        "session_timeout": 6_000,
        "rebalance_timeout": LONG_MS,
        "member_id": "",
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": b""}],
    }
    first = Connection(broker.bootstrap)
    first.request("join_group", 2, **member)
    connection.send("join_group", 2, **member)
    wait_until(broker, lambda: sum(len(each._waiting) for each in server._connections) == 1)
    (waiting,) = [task for each in server._connections for task in each._waiting]
    connection.close()
    wait_until(broker, lambda: waiting.done() and broker.embedded.traffic.connections == 1)
    first.close()


def test_a_deletion_whose_client_goes_away_happens_now_and_not_at_the_next_start(
    broker: Broker, disk: SlowDisk
) -> None:
    create_topic(broker, "orders")
    disk.hold()
    connection = Connection(broker.bootstrap)
    connection.send("delete_topics", 4, topic_names=["orders"], timeout=LONG_MS)
    assert disk.is_waiting.wait(30)
    connection.close()
    has_no_connections(broker)
    disk.release()
    wait_until(broker, lambda: broker.embedded.topics.get("orders") is None)
    broker.restart()
    assert broker.embedded.topics.get("orders") is None


def test_a_topic_whose_creator_goes_away_exists_before_and_after_a_restart(
    broker: Broker, disk: SlowDisk
) -> None:
    disk.hold()
    connection = Connection(broker.bootstrap)
    connection.send(
        "create_topics",
        7,
        topics=[{"name": "orders", "num_partitions": 1, "replication_factor": 1}],
        timeout=LONG_MS,
    )
    assert disk.is_waiting.wait(30)
    connection.close()
    has_no_connections(broker)
    disk.release()
    wait_until(broker, lambda: broker.embedded.topics.get("orders") is not None)
    created = broker.embedded.topics.get("orders").id
    broker.restart()
    assert broker.embedded.topics.get("orders").id == created


def test_answers_to_nobody_are_not_counted_as_outstanding(broker: Broker, disk: SlowDisk) -> None:
    create_topic(broker, "orders")
    disk.hold()
    connection = Connection(broker.bootstrap)
    connection.send("produce", 9, **produce_data("orders", batch(b"paid")))
    assert disk.is_waiting.wait(30)
    connection.close()
    has_no_connections(broker)
    disk.release()
    partition = broker.embedded.topics.get("orders").partitions[0]
    wait_until(broker, lambda: partition.log.high_watermark == 1)
    assert broker.embedded.traffic.outstanding_bytes == 0
