"""What tools ask about transactions, and how they abort one: DescribeProducers to WriteTxnMarkers."""

from collections.abc import Callable
from typing import Any

import pytest

from conformance.batches import batch, now_ms
from conformance.calls import append, eventually
from conformance.raw import Connection, ErrorCode, encode
from conformance.transactional import (
    NEW,
    Transactional,
    committed_fetch,
    committed_values,
    describe,
    state_of,
)
from headwater.wire.codec import decode
from headwater.wire.messages.describe_transactions import DescribeTransactionsResponse

NewProducer = Callable[..., Transactional]
NONE = ErrorCode.none


def producers_of(connection: Connection, topic: str) -> dict[int, Any]:
    response = connection.request(
        "describe_producers", 0, topics=[{"name": topic, "partition_indexes": [0]}]
    )
    (partition,) = response.topics[0].partitions
    assert partition.error_code == NONE
    return {each.producer_id: each for each in partition.active_producers}


def listed(connection: Connection, version: int = 2, **filters: Any) -> dict[str, Any]:
    response = connection.request("list_transactions", version, **filters)
    assert response.error_code == NONE
    return {each.transactional_id: each for each in response.transaction_states}


def test_transaction_is_described(connection: Connection, topic: str, transactional: NewProducer):
    producer = transactional(timeout_ms=54_321)
    producer.send(topic, b"a")

    described = describe(connection, producer.transactional_id)

    assert (described.error_code, described.transaction_state) == (NONE, "Ongoing")
    assert (described.producer_id, described.producer_epoch) == (
        producer.producer_id,
        producer.epoch,
    )
    assert described.transaction_timeout == 54_321
    assert abs(described.transaction_start_time - now_ms()) < 60_000
    assert [(each.topic, each.partitions) for each in described.topics] == [(topic, [0])]


def test_states_are_named_as_they_pass(
    connection: Connection, topic: str, transactional: NewProducer
):
    producer = transactional()
    assert state_of(connection, producer.transactional_id) == "Empty"
    producer.send(topic, b"a")
    assert state_of(connection, producer.transactional_id) == "Ongoing"
    producer.commit()

    described = describe(connection, producer.transactional_id)
    assert (described.transaction_state, described.topics) == ("CompleteCommit", [])


def test_transaction_that_never_began_has_no_start(
    connection: Connection, transactional: NewProducer
):
    transactional_id = transactional().transactional_id
    fields = {"transactional_ids": [transactional_id]}
    connection.send_bytes(encode("describe_transactions", 0, 1, fields))
    # kio takes no negative time: the answer is read by our own decoder, after a header of 5 bytes.
    answer = memoryview(connection.receive_bytes())[5:]

    (found,) = decode(DescribeTransactionsResponse, 0, answer).transaction_states

    assert (found.transaction_state, found.transaction_start_time_ms) == ("Empty", -1)
    assert list(found.topics) == []


@pytest.mark.parametrize(
    ("transactional_id", "error"),
    [("nobody", ErrorCode.transactional_id_not_found), ("", ErrorCode.invalid_request)],
)
def test_unknown_transactional_id_is_not_described(
    connection: Connection, transactional: NewProducer, transactional_id: str, error: ErrorCode
):
    transactional()

    described = describe(connection, transactional_id)

    assert (described.error_code, described.transactional_id) == (error, transactional_id)


def test_transactions_are_listed_by_state(
    connection: Connection, topic: str, transactional: NewProducer
):
    ongoing, done, idle = transactional(), transactional(), transactional()
    ongoing.send(topic, b"a")
    done.send(topic, b"b")
    done.commit()

    everything = listed(connection)
    assert everything[ongoing.transactional_id].transaction_state == "Ongoing"
    assert everything[ongoing.transactional_id].producer_id == ongoing.producer_id
    assert everything[done.transactional_id].transaction_state == "CompleteCommit"
    assert everything[idle.transactional_id].transaction_state == "Empty"
    found = listed(connection, 0, state_filters=["Ongoing", "Empty"])
    assert {ongoing.transactional_id, idle.transactional_id} <= found.keys()
    assert done.transactional_id not in found


def test_unknown_states_are_named(connection: Connection, transactional: NewProducer):
    producer = transactional()

    response = connection.request(
        "list_transactions", 2, state_filters=["Empty", "Unheard", "Dead", "PrepareEpochFence"]
    )

    assert response.unknown_state_filters == ["Unheard"]
    assert producer.transactional_id in {
        each.transactional_id for each in response.transaction_states
    }


def test_transactions_are_listed_by_producer_id(connection: Connection, transactional: NewProducer):
    one, _ = transactional(), transactional()

    found = listed(connection, producer_id_filters=[one.producer_id])

    assert found.keys() == {one.transactional_id}


def test_transactions_are_listed_by_duration(
    connection: Connection, topic: str, transactional: NewProducer
):
    producer = transactional()
    producer.send(topic, b"a")

    mine = {"producer_id_filters": [producer.producer_id]}
    assert not listed(connection, 1, duration_filter=3_600_000, **mine)
    assert eventually(lambda: listed(connection, 1, duration_filter=1, **mine))


def test_transactions_are_listed_by_pattern(
    connection: Connection, name: str, transactional: NewProducer
):
    for suffix in ("app-1", "app-2", "other"):
        transactional(f"{name}-{suffix}")

    found = listed(connection, transactional_id_pattern=f"{name}-app-.*")
    assert found.keys() == {f"{name}-app-1", f"{name}-app-2"}
    # As Java's Pattern.quote writes one id.
    assert listed(connection, transactional_id_pattern=f"\\Q{name}-app-1\\E").keys() == {
        f"{name}-app-1"
    }
    # The whole id must match.
    assert not listed(connection, transactional_id_pattern=f"{name}-app")
    assert f"{name}-other" in listed(connection, transactional_id_pattern="")


def test_pattern_must_be_one(connection: Connection, transactional: NewProducer):
    transactional()

    response = connection.request("list_transactions", 2, transactional_id_pattern="(")

    assert response.error_code == ErrorCode.invalid_regular_expression


def test_producers_say_where_their_transaction_begins(
    connection: Connection, topic: str, transactional: NewProducer
):
    append(connection, topic, batch(b"before"))
    producer = transactional()
    producer.send(topic, b"a", b"b")

    found = producers_of(connection, topic)[producer.producer_id]
    assert (found.producer_epoch, found.last_sequence) == (producer.epoch, 1)
    assert found.current_txn_start_offset == 1
    assert found.coordinator_epoch == -1

    identity = producer.producer_id
    producer.commit()
    found = producers_of(connection, topic)[identity]
    assert found.current_txn_start_offset == -1
    assert found.producer_epoch == producer.epoch
    assert found.last_sequence == (-1 if producer.dialect.bumps_epochs else 1)
    assert found.coordinator_epoch >= 0


def write_marker(
    connection: Connection, producer: Transactional, topic: str, version: int = 1, **fields: Any
) -> ErrorCode:
    marker = {
        "producer_id": producer.producer_id,
        "producer_epoch": producer.epoch,
        "transaction_result": False,
        "topics": [{"name": topic, "partition_indexes": [0]}],
        "coordinator_epoch": 0,
    }
    response = connection.request("write_txn_markers", version, markers=[marker | fields])
    (written,) = response.markers
    assert written.producer_id == producer.producer_id
    return written.topics[0].partitions[0].error_code


@pytest.mark.parametrize("version", [1, 2])
def test_tool_aborts_a_transaction_in_a_partition(
    connection: Connection, topic: str, transactional: NewProducer, version: int
):
    producer = transactional()
    producer.send(topic, b"hanging")
    append(connection, topic, batch(b"behind it"))
    assert committed_fetch(connection, topic).last_stable_offset == 0

    assert write_marker(connection, producer, topic, version) == NONE

    assert committed_values(connection, topic) == [b"behind it"]


def test_tool_cannot_end_the_transaction_of_a_newer_epoch(
    connection: Connection, topic: str, transactional: NewProducer
):
    producer = transactional()
    producer.start()
    producer.send(topic, b"a")
    producer.epoch -= 1

    code = write_marker(connection, producer, topic)

    assert code == ErrorCode.invalid_producer_epoch
    assert committed_fetch(connection, topic).last_stable_offset == 0


def test_marker_of_a_new_client_needs_the_next_epoch(connection: Connection, topic: str, name: str):
    producer = Transactional(connection, name, NEW).start()
    producer.send(topic, b"a")

    code = write_marker(connection, producer, topic, 2, transaction_version=2)
    assert code == ErrorCode.invalid_producer_epoch

    producer.epoch += 1
    assert write_marker(connection, producer, topic, 2, transaction_version=2) == NONE
    # The same again is a retry.
    assert write_marker(connection, producer, topic, 2, transaction_version=2) == NONE
    assert committed_fetch(connection, topic).last_stable_offset == 3


def test_marker_of_an_older_coordinator_is_refused(
    connection: Connection, topic: str, transactional: NewProducer
):
    producer = transactional()
    producer.send(topic, b"a")
    assert write_marker(connection, producer, topic, coordinator_epoch=7) == NONE

    code = write_marker(connection, producer, topic, coordinator_epoch=6)

    assert code == ErrorCode.transaction_coordinator_fenced


def test_marker_for_an_unknown_partition_is_refused(
    connection: Connection, transactional: NewProducer
):
    code = write_marker(connection, transactional(), "no-such-topic")

    assert code == ErrorCode.unknown_topic_or_partition


def test_tool_may_end_what_has_no_records(
    connection: Connection, topic: str, transactional: NewProducer
):
    assert write_marker(connection, transactional(), topic, transaction_result=True) == NONE
    assert committed_fetch(connection, topic).last_stable_offset == 1
