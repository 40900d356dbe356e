"""InitProducerId: identities of idempotent and transactional producers."""

from collections.abc import Callable

import pytest

from conformance.calls import new_producer_id
from conformance.raw import Connection, ErrorCode
from conformance.transactional import Transactional, committed_values

NewProducer = Callable[..., Transactional]
FIFTEEN_MINUTES_MS = 900_000


@pytest.mark.parametrize("version", range(6))
def test_ids_are_given_in_every_version(connection: Connection, version: int):
    new_producer_id(connection)

    response = connection.request(
        "init_producer_id", version, transactional_id=None, transaction_timeout=60_000
    )

    assert response.error_code == ErrorCode.none
    assert response.producer_id >= 0
    assert response.producer_epoch == 0


def test_ids_are_unique(connection: Connection):
    ids = [new_producer_id(connection) for _ in range(50)]

    assert len(set(ids)) == 50


def test_ids_are_unique_across_connections(connect):
    first, second = connect(), connect()
    ids = [new_producer_id(connection) for connection in (first, second) * 5]

    assert len(set(ids)) == 10


def test_empty_transactional_id_is_refused(connection: Connection):
    response = connection.request(
        "init_producer_id", 4, transactional_id="", transaction_timeout=60_000
    )

    assert response.error_code == ErrorCode.invalid_request


def test_transaction_timeout_above_the_limit_is_refused(connection: Connection, name: str):
    response = connection.request(
        "init_producer_id",
        4,
        transactional_id=name,
        transaction_timeout=FIFTEEN_MINUTES_MS + 1,
    )

    assert response.error_code == ErrorCode.invalid_transaction_timeout


def test_timeout_does_not_matter_without_a_transactional_id(connection: Connection):
    new_producer_id(connection)

    response = connection.request(
        "init_producer_id", 4, transactional_id=None, transaction_timeout=2**31 - 1
    )

    assert response.error_code == ErrorCode.none


def test_idempotent_producer_may_name_itself_to_get_a_new_epoch(connection: Connection):
    first = new_producer_id(connection)

    again = connection.request(
        "init_producer_id",
        4,
        transactional_id=None,
        transaction_timeout=60_000,
        producer_id=first,
        producer_epoch=0,
    )

    # Without a transactional id the broker keeps nothing: it gives a new identity.
    assert again.error_code == ErrorCode.none
    assert again.producer_epoch == 0
    assert again.producer_id != first


# Transactional ids


def test_new_transactional_id_begins_at_epoch_zero(transactional: NewProducer):
    assert transactional().epoch == 0


@pytest.mark.parametrize("version", range(6))
def test_transactional_ids_are_initialized_in_every_version(
    transactional: NewProducer, version: int
):
    producer = transactional()

    response = producer.init(version)

    assert response.error_code == ErrorCode.none
    assert (response.producer_id, response.producer_epoch) == (producer.producer_id, 1)


@pytest.mark.parametrize("timeout_ms", [0, -1])
def test_transaction_timeout_must_be_positive(transactional: NewProducer, timeout_ms: int):
    producer = transactional()
    producer.timeout_ms = timeout_ms

    assert producer.init().error_code == ErrorCode.invalid_transaction_timeout


def test_next_client_takes_the_next_epoch_of_the_same_producer_id(transactional: NewProducer):
    first = transactional()
    second = transactional(first.transactional_id)

    assert (second.producer_id, second.epoch) == (first.producer_id, first.epoch + 1)


def test_open_transaction_is_aborted_before_the_next_client_gets_the_id(
    connection: Connection, topic: str, transactional: NewProducer
):
    first = transactional()
    first.send(topic, b"never")

    response = first.init()

    assert response.error_code == ErrorCode.concurrent_transactions
    second = transactional(first.transactional_id)
    assert (second.producer_id, second.epoch) == (first.producer_id, first.epoch + 2)
    assert committed_values(connection, topic) == []
    second.send(topic, b"mine")
    second.commit()
    assert committed_values(connection, topic) == [b"mine"]


def test_client_that_names_itself_takes_the_next_epoch(transactional: NewProducer):
    producer = transactional()
    me = {"producer_id": producer.producer_id, "producer_epoch": producer.epoch}

    response = producer.init(**me)

    assert (response.error_code, response.producer_epoch) == (ErrorCode.none, producer.epoch + 1)


def test_client_whose_answer_was_lost_asks_again_and_gets_the_same(transactional: NewProducer):
    producer = transactional()
    me = {"producer_id": producer.producer_id, "producer_epoch": producer.epoch}
    first = producer.init(**me)

    again = producer.init(**me)

    assert (again.error_code, again.producer_epoch) == (ErrorCode.none, first.producer_epoch)


@pytest.mark.parametrize(
    ("version", "error"),
    [(3, ErrorCode.invalid_producer_epoch), (4, ErrorCode.producer_fenced)],
)
def test_fenced_client_cannot_come_back(transactional: NewProducer, version: int, error: ErrorCode):
    zombie = transactional()
    transactional(zombie.transactional_id)

    response = zombie.init(version, producer_id=zombie.producer_id, producer_epoch=zombie.epoch)

    assert response.error_code == error


def test_client_cannot_come_back_as_somebody_else(transactional: NewProducer):
    producer = transactional()

    response = producer.init(producer_id=producer.producer_id + 1_000_000, producer_epoch=0)

    assert response.error_code == ErrorCode.producer_fenced


def test_client_that_names_itself_under_an_unknown_id_is_new(connection: Connection, name: str):
    producer = Transactional(connection, name).start(producer_id=123_456_789, producer_epoch=3)

    assert producer.epoch == 0
    assert producer.producer_id != 123_456_789


@pytest.mark.parametrize("half", [{"producer_id": 1}, {"producer_epoch": 1}])
def test_producer_id_and_epoch_come_together(transactional: NewProducer, half: dict[str, int]):
    assert transactional().init(**half).error_code == ErrorCode.invalid_request
