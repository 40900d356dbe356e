"""Idempotent produce: a retry is stored once, a gap is refused, an old epoch is fenced."""

from dataclasses import dataclass
from typing import Any

import pytest

from conformance.batches import TRANSACTIONAL, batch
from conformance.calls import list_offset, new_producer_id, produce
from conformance.conftest import NewTopic
from conformance.raw import Connection, ErrorCode

LAST_SEQUENCE = 2**31 - 1


@dataclass
class Producer:
    """An idempotent producer whose every field is in the hands of the test."""

    connection: Connection
    topic: str
    producer_id: int
    epoch: int = 0

    def send(self, sequence: int, *values: bytes, epoch: int | None = None) -> Any:
        return produce(
            self.connection,
            self.topic,
            batch(
                *(values or (b"value",)),
                producer_id=self.producer_id,
                producer_epoch=self.epoch if epoch is None else epoch,
                base_sequence=sequence,
            ),
        )

    def end_offset(self) -> int:
        return list_offset(self.connection, self.topic, -1).offset


@pytest.fixture
def producer(connection: Connection, topic: str) -> Producer:
    return Producer(connection, topic, new_producer_id(connection))


def test_sequences_go_on(producer: Producer):
    assert producer.send(0, b"a", b"b").base_offset == 0
    assert producer.send(2, b"c").base_offset == 2
    assert producer.send(3, b"d").base_offset == 3


def test_duplicate_returns_the_original_offset_and_is_stored_once(producer: Producer):
    first = producer.send(0, b"a", b"b")

    again = producer.send(0, b"a", b"b")

    assert (again.error_code, again.base_offset) == (ErrorCode.none, first.base_offset)
    assert producer.end_offset() == 2


def test_each_of_the_last_five_batches_is_known(producer: Producer):
    offsets = [producer.send(sequence).base_offset for sequence in range(8)]

    again = [producer.send(sequence) for sequence in range(3, 8)]

    assert [answer.error_code for answer in again] == [ErrorCode.none] * 5
    assert [answer.base_offset for answer in again] == offsets[3:]
    assert producer.end_offset() == 8


def test_duplicate_older_than_five_batches_is_out_of_order(producer: Producer):
    for sequence in range(6):
        producer.send(sequence)

    answer = producer.send(0)

    assert answer.error_code == ErrorCode.out_of_order_sequence_number
    assert producer.end_offset() == 6


def test_part_of_an_old_batch_is_not_a_duplicate(producer: Producer):
    producer.send(0, b"a", b"b", b"c")

    assert producer.send(1, b"b").error_code == ErrorCode.out_of_order_sequence_number
    assert producer.send(0, b"a").error_code == ErrorCode.out_of_order_sequence_number
    assert producer.end_offset() == 3


def test_gap_is_refused_and_the_missing_batch_still_fits(producer: Producer):
    producer.send(0)

    assert producer.send(2).error_code == ErrorCode.out_of_order_sequence_number
    assert producer.send(1).error_code == ErrorCode.none
    assert producer.end_offset() == 2


def test_first_batch_of_a_producer_may_have_any_sequence(producer: Producer):
    # Kafka knows no producer state here (it may have expired), so it takes the client's word.
    assert producer.send(7).error_code == ErrorCode.none
    assert producer.send(8).error_code == ErrorCode.none


def test_old_epoch_is_fenced(producer: Producer):
    producer.send(0, epoch=3)

    answer = producer.send(1, epoch=2)

    assert answer.error_code == ErrorCode.invalid_producer_epoch
    assert producer.end_offset() == 1


def test_new_epoch_starts_at_sequence_zero(producer: Producer):
    producer.send(0, epoch=0)
    producer.send(1, epoch=0)

    assert producer.send(2, epoch=1).error_code == ErrorCode.out_of_order_sequence_number
    assert producer.send(0, epoch=1).error_code == ErrorCode.none
    assert producer.send(1, epoch=1).error_code == ErrorCode.none
    assert producer.end_offset() == 4


def test_new_epoch_forgets_the_batches_of_the_old_one(producer: Producer):
    producer.send(0, epoch=0)

    assert producer.send(0, epoch=1).base_offset == 1


def test_sequence_wraps_around(producer: Producer):
    producer.send(LAST_SEQUENCE - 1)
    producer.send(LAST_SEQUENCE)

    assert producer.send(0).error_code == ErrorCode.none
    assert producer.send(1).error_code == ErrorCode.none
    assert producer.end_offset() == 4


def test_sequence_wraps_around_inside_a_batch(producer: Producer):
    producer.send(LAST_SEQUENCE - 1, b"a", b"b", b"c")

    answer = producer.send(1)

    assert (answer.error_code, answer.base_offset) == (ErrorCode.none, 3)


def test_duplicate_of_a_batch_that_wraps_around(producer: Producer):
    producer.send(LAST_SEQUENCE, b"a", b"b")

    again = producer.send(LAST_SEQUENCE, b"a", b"b")

    assert (again.error_code, again.base_offset) == (ErrorCode.none, 0)
    assert producer.end_offset() == 2


def test_producers_do_not_share_sequences(connection: Connection, producer: Producer):
    other = Producer(connection, producer.topic, producer.producer_id + 1_000_000)

    producer.send(0)
    assert other.send(0).error_code == ErrorCode.none
    assert producer.send(1).error_code == ErrorCode.none
    assert other.send(1).error_code == ErrorCode.none


def test_partitions_do_not_share_sequences(connection: Connection, new_topic: NewTopic):
    topic = new_topic(partitions=2)
    records = batch(
        b"a", producer_id=new_producer_id(connection), producer_epoch=0, base_sequence=0
    )

    assert produce(connection, topic, records, partition=0).base_offset == 0
    assert produce(connection, topic, records, partition=1).base_offset == 0


def test_producer_id_without_a_sequence_is_refused(producer: Producer):
    assert producer.send(-1).error_code == ErrorCode.invalid_record


def test_transactional_batch_without_a_transaction_is_refused(producer: Producer):
    answer = produce(
        producer.connection,
        producer.topic,
        batch(
            b"a",
            attributes=TRANSACTIONAL,
            producer_id=producer.producer_id,
            producer_epoch=0,
            base_sequence=0,
        ),
    )

    assert answer.error_code != ErrorCode.none
    assert producer.end_offset() == 0
