"""Transactional records that the coordinator does not know of: left by a crash, never to be ended."""

from pathlib import Path

import pytest

from conformance.batches import decode
from conformance.calls import fetch
from conformance.raw import Connection, ErrorCode
from conformance.transactional import Transactional, committed_fetch, committed_values, state_of
from headwater.testing import Broker
from log.batches import Sender, batch, values


def orphan(broker: Broker, producer_id: int = 77) -> None:
    """Write a transactional batch that only the partition knows of, durably."""

    async def write() -> None:
        topic = broker.embedded.topics.get("orders")
        assert topic is not None
        partition = topic.partitions[0]
        records = batch(values("orphan"), Sender(producer_id, 0, 0), is_transactional=True)
        partition.log.append(records, transaction_version=2)
        await broker.embedded.committer.durable(partition)

    broker.call(write)


@pytest.fixture
def broker(tmp_path: Path) -> Broker:
    return Broker(data=tmp_path / "data")


def test_record_of_a_transaction_that_was_never_begun_is_aborted_at_start(broker: Broker) -> None:
    with broker:
        broker.create_topic("orders")
        orphan(broker)
        broker.kill()
        broker.start()
        with Connection(broker.bootstrap) as connection:
            answer = committed_fetch(connection, "orders")
            assert answer.last_stable_offset == answer.high_watermark == 2
            assert committed_values(connection, "orders") == []


def test_open_transaction_of_a_client_is_no_orphan(broker: Broker) -> None:
    with broker:
        broker.create_topic("orders")
        with Connection(broker.bootstrap) as connection:
            producer = Transactional(connection, "app").start()
            producer.send("orders", b"mine")
        broker.kill()
        broker.start()
        with Connection(broker.bootstrap) as connection:
            assert state_of(connection, "app") == "Ongoing"
            assert committed_fetch(connection, "orders").last_stable_offset == 0
            producer.connection = connection
            producer.commit()
            assert committed_values(connection, "orders") == [b"mine"]


@pytest.mark.parametrize("how", ["at once", "after one more restart"])
def test_nothing_is_decided_where_a_marker_was_damaged(broker: Broker, how: str) -> None:
    """The missing end may have been a commit or an abort: readers are told, nothing is thrown away."""
    with broker:
        broker.create_topic("orders")
        with Connection(broker.bootstrap) as connection:
            producer = Transactional(connection, "app").start()
            producer.send("orders", b"who knows")
            producer.abort()
        broker.kill()
        path = broker.data / "orders-0" / f"{0:020d}.log"
        data = bytearray(path.read_bytes())
        data[-3] ^= 1
        path.write_bytes(data)
        broker.start()
        if how == "after one more restart":
            broker.restart()
        with Connection(broker.bootstrap) as connection:
            producer.connection = connection
            producer.send("orders", b"later")
            producer.commit()
            answer = committed_fetch(connection, "orders")
            assert answer.error_code == ErrorCode.corrupt_message
            latest = fetch(connection, "orders", 0)
            assert decode(latest.records)[0].values == [b"who knows"]
            # Behind the damage it goes on, for who has given up on it.
            connection.request(
                "delete_records",
                2,
                topics=[{"name": "orders", "partitions": [{"partition_index": 0, "offset": 2}]}],
                timeout=10_000,
            )
            later = committed_fetch(connection, "orders", 2)
            assert decode(later.records)[0].values == [b"later"]
