"""Produce in transactions: what belongs to one is written, nothing else is."""

from collections.abc import Callable

import pytest

from conformance.batches import batch
from conformance.calls import list_offset
from conformance.conftest import NewTopic
from conformance.raw import Connection, ErrorCode
from conformance.transactional import NEW, OLD, Transactional, committed_values

NewProducer = Callable[..., Transactional]


def end_offset(connection: Connection, topic: str) -> int:
    return list_offset(connection, topic, -1).offset


@pytest.fixture
def old(connection: Connection, name: str) -> Transactional:
    return Transactional(connection, name, OLD).start()


@pytest.fixture
def new(connection: Connection, name: str) -> Transactional:
    return Transactional(connection, name, NEW).start()


@pytest.mark.parametrize(
    ("version", "error"),
    [
        (3, ErrorCode.invalid_txn_state),
        (9, ErrorCode.invalid_txn_state),
        (10, ErrorCode.invalid_txn_state),
        (11, ErrorCode.transaction_abortable),
    ],
)
def test_partition_that_was_not_added_is_refused(
    connection: Connection, topic: str, old: Transactional, version: int, error: ErrorCode
):
    answer = old.produce(topic, old.records(b"a"), version=version)

    assert answer.error_code == error
    assert end_offset(connection, topic) == 0


def test_writing_adds_the_partition_since_version_12(
    connection: Connection, topic: str, new: Transactional
):
    answer = new.produce(topic, new.records(b"a"))

    assert (answer.error_code, answer.base_offset) == (ErrorCode.none, 0)
    new.commit()
    assert committed_values(connection, topic) == [b"a"]


def test_transactional_batch_without_a_transactional_id_is_refused(
    connection: Connection, topic: str, transactional: NewProducer
):
    producer = transactional()
    producer.begin_in((topic, 0))

    answer = producer.produce(topic, producer.records(b"a"), transactional_id=None)

    assert answer.error_code == ErrorCode.transactional_id_authorization_failed
    assert end_offset(connection, topic) == 0


def test_unknown_transactional_id_is_refused(
    connection: Connection, topic: str, transactional: NewProducer
):
    producer = transactional()

    answer = producer.produce(topic, producer.records(b"a"), transactional_id="nobody")

    assert answer.error_code == ErrorCode.invalid_producer_id_mapping
    assert end_offset(connection, topic) == 0


def test_another_producer_id_is_refused(
    connection: Connection, topic: str, transactional: NewProducer
):
    producer = transactional()
    records = producer.records(b"a", producer_id=producer.producer_id + 1)

    answer = producer.produce(topic, records)

    assert answer.error_code == ErrorCode.invalid_producer_id_mapping
    assert end_offset(connection, topic) == 0


@pytest.mark.parametrize("step", [-1, 1])
def test_another_epoch_is_refused(
    connection: Connection, topic: str, transactional: NewProducer, step: int
):
    producer = transactional()
    producer.start()
    producer.begin_in((topic, 0))

    answer = producer.produce(topic, producer.records(b"a", producer_epoch=producer.epoch + step))

    assert answer.error_code == ErrorCode.invalid_producer_epoch
    assert end_offset(connection, topic) == 0


def test_fenced_producer_cannot_write(
    connection: Connection, topic: str, transactional: NewProducer
):
    zombie = transactional()
    zombie.send(topic, b"aborted with its transaction")
    successor = transactional(zombie.transactional_id)

    answer = zombie.produce(topic, zombie.records(b"late", sequence=1))

    assert answer.error_code == ErrorCode.invalid_producer_epoch
    assert successor.epoch > zombie.epoch
    assert committed_values(connection, topic) == []


def test_plain_batch_of_a_producer_with_an_open_transaction_is_refused(
    connection: Connection, topic: str, transactional: NewProducer
):
    producer = transactional()
    producer.send(topic, b"open")

    answer = producer.produce(topic, producer.records(b"plain", sequence=1, attributes=0))

    assert answer.error_code == ErrorCode.invalid_txn_state
    assert end_offset(connection, topic) == 1


def test_transaction_that_has_ended_takes_nothing_more(
    connection: Connection, topic: str, old: Transactional
):
    old.send(topic, b"a")
    old.commit()

    answer = old.produce(topic, old.records(b"b", sequence=1))

    assert answer.error_code == ErrorCode.invalid_txn_state
    assert end_offset(connection, topic) == 2


def test_late_batch_is_refused_by_its_epoch_since_version_12(
    connection: Connection, topic: str, new: Transactional
):
    new.send(topic, b"a")
    late = new.records(b"late", sequence=1)
    new.commit()
    new.send(topic, b"b")

    answer = new.produce(topic, late)

    assert answer.error_code == ErrorCode.invalid_producer_epoch
    new.commit()
    assert committed_values(connection, topic) == [b"a", b"b"]


def test_retried_batch_is_written_once(
    connection: Connection, topic: str, transactional: NewProducer
):
    producer = transactional()
    producer.begin_in((topic, 0))
    records = producer.records(b"a", b"b")

    answers = [producer.produce(topic, records) for _ in range(2)]

    assert [each.error_code for each in answers] == [ErrorCode.none] * 2
    assert [each.base_offset for each in answers] == [0, 0]
    producer.commit()
    assert committed_values(connection, topic) == [b"a", b"b"]


def test_gap_in_the_sequence_is_refused(
    connection: Connection, topic: str, transactional: NewProducer
):
    producer = transactional()
    producer.send(topic, b"a")

    answer = producer.produce(topic, producer.records(b"c", sequence=2))

    assert answer.error_code == ErrorCode.out_of_order_sequence_number
    assert end_offset(connection, topic) == 1


def test_sequences_go_on_from_one_old_transaction_to_the_next(topic: str, old: Transactional):
    old.send(topic, b"a", b"b")
    old.commit()
    old.begin_in((topic, 0))

    assert old.produce(topic, old.records(b"c", sequence=2)).error_code == ErrorCode.none
    old.commit()
    old.begin_in((topic, 0))
    assert old.produce(topic, old.records(b"x")).error_code == (
        ErrorCode.out_of_order_sequence_number
    )


def test_every_new_transaction_begins_at_sequence_zero(topic: str, new: Transactional):
    new.send(topic, b"a", b"b")
    new.commit()

    assert new.produce(topic, new.records(b"c", sequence=2)).error_code == (
        ErrorCode.out_of_order_sequence_number
    )
    assert new.produce(topic, new.records(b"c")).error_code == ErrorCode.none
    assert new.produce(topic, new.records(b"d", sequence=1)).error_code == ErrorCode.none


def test_unknown_producer_begins_at_sequence_zero_since_version_12(topic: str, new: Transactional):
    answer = new.produce(topic, new.records(b"a", sequence=5))

    assert answer.error_code == ErrorCode.out_of_order_sequence_number


def test_one_request_writes_for_one_producer(
    connection: Connection, new_topic: NewTopic, new: Transactional
):
    topic = new_topic(partitions=2)
    data = [
        {"index": 0, "records": new.records(b"a")},
        {"index": 1, "records": new.records(b"b", producer_id=new.producer_id + 1)},
    ]
    response = connection.request(
        "produce",
        12,
        transactional_id=new.transactional_id,
        acks=-1,
        timeout=10_000,
        topic_data=[{"name": topic, "partition_data": data}],
    )

    codes = {each.error_code for each in response.responses[0].partition_responses}
    assert codes == {ErrorCode.invalid_producer_id_mapping}


def test_client_may_not_write_markers(
    connection: Connection, topic: str, transactional: NewProducer
):
    producer = transactional()
    producer.send(topic, b"a")

    answer = producer.produce(topic, producer.records(b"b", sequence=1, attributes=0x30))

    assert answer.error_code == ErrorCode.invalid_record
    assert end_offset(connection, topic) == 1


def test_plain_batches_need_no_transaction(topic: str, transactional: NewProducer):
    producer = transactional()

    answer = producer.produce(topic, batch(b"plain"))

    assert answer.error_code == ErrorCode.none
