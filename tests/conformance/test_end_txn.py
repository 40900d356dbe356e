"""EndTxn: who may end a transaction, what a retry is told, and that a late request ends nothing else."""

from collections.abc import Callable

import pytest

from conformance.calls import eventually
from conformance.raw import Connection, ErrorCode
from conformance.transactional import (
    BUSY,
    NEW,
    OLD,
    Transactional,
    committed_values,
    describe,
    state_of,
)

NewProducer = Callable[..., Transactional]


@pytest.fixture
def old(connection: Connection, name: str) -> Transactional:
    return Transactional(connection, name, OLD).start()


@pytest.fixture
def new(connection: Connection, name: str) -> Transactional:
    return Transactional(connection, name, NEW).start()


def end(producer: Transactional, *, commit: bool, **fields: int) -> ErrorCode:
    """EndTxn, asked again while the transaction before is being finished."""

    def ask() -> ErrorCode | None:
        code = producer.end(commit=commit, **fields).error_code
        return None if code in BUSY else (code,)

    return eventually(ask)[0]


@pytest.mark.parametrize("version", range(6))
def test_every_version_commits(connection: Connection, topic: str, name: str, version: int):
    producer = Transactional(connection, name, NEW if version == 5 else OLD).start()
    producer.send(topic, b"a")

    response = producer.end(commit=True, version=version)

    assert response.error_code == ErrorCode.none
    producer.await_state("CompleteCommit")
    assert committed_values(connection, topic) == [b"a"]


@pytest.mark.parametrize("commit", [True, False])
def test_new_clients_get_the_next_epoch(topic: str, new: Transactional, commit: bool):
    new.send(topic, b"a")

    response = new.end(commit=commit)

    assert response.error_code == ErrorCode.none
    assert (response.producer_id, response.producer_epoch) == (new.producer_id, new.epoch + 1)


@pytest.mark.parametrize("commit", [True, False])
def test_old_clients_keep_their_epoch(topic: str, old: Transactional, commit: bool):
    old.send(topic, b"a")
    old.finish(commit=commit)

    described = describe(old.connection, old.transactional_id)

    assert (described.producer_id, described.producer_epoch) == (old.producer_id, old.epoch)


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("same", [True, False])
def test_old_client_that_ends_twice_is_told_what_happened(
    topic: str, old: Transactional, commit: bool, same: bool
):
    old.send(topic, b"a")
    old.finish(commit=commit)

    again = end(old, commit=commit if same else not commit)

    assert again == (ErrorCode.none if same else ErrorCode.invalid_txn_state)


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("same", [True, False])
def test_new_client_that_ends_twice_is_told_what_happened(
    topic: str, new: Transactional, commit: bool, same: bool
):
    new.send(topic, b"a")
    before = {"producer_id": new.producer_id, "producer_epoch": new.epoch}
    new.finish(commit=commit)

    again = new.end(commit=commit if same else not commit, **before)

    if same:
        assert again.error_code == ErrorCode.none
        assert (again.producer_id, again.producer_epoch) == (new.producer_id, new.epoch)
    else:
        assert again.error_code == ErrorCode.invalid_txn_state
        assert (again.producer_id, again.producer_epoch) == (-1, -1)


def test_old_client_has_nothing_to_end_before_it_begins(old: Transactional):
    assert end(old, commit=True) == ErrorCode.invalid_txn_state
    assert end(old, commit=False) == ErrorCode.invalid_txn_state


def test_new_client_may_abort_what_it_never_began(topic: str, new: Transactional):
    assert end(new, commit=True) == ErrorCode.invalid_txn_state
    epoch = new.epoch
    new.abort()
    assert new.epoch == epoch + 1

    new.send(topic, b"a")
    new.commit()
    assert end(new, commit=True) == ErrorCode.invalid_txn_state
    new.abort()
    assert new.epoch == epoch + 3


@pytest.mark.parametrize("commit", [True, False])
def test_late_request_of_a_new_client_cannot_end_a_later_transaction(
    connection: Connection, topic: str, new: Transactional, commit: bool
):
    new.send(topic, b"first")
    late = {"producer_id": new.producer_id, "producer_epoch": new.epoch}
    new.finish(commit=commit)
    new.send(topic, b"second")

    response = new.end(commit=commit, **late)

    assert response.error_code == ErrorCode.producer_fenced
    assert state_of(connection, new.transactional_id) == "Ongoing"


@pytest.mark.parametrize(
    ("version", "error"),
    [
        (0, ErrorCode.invalid_producer_epoch),
        (1, ErrorCode.invalid_producer_epoch),
        (2, ErrorCode.producer_fenced),
        (4, ErrorCode.producer_fenced),
        (5, ErrorCode.producer_fenced),
    ],
)
def test_fenced_client_cannot_end_its_successors_transaction(
    connection: Connection, topic: str, name: str, version: int, error: ErrorCode
):
    zombie = Transactional(connection, name, OLD).start()
    successor = Transactional(connection, name, NEW).start()
    successor.start()
    successor.send(topic, b"a")

    response = zombie.end(commit=True, version=version)

    assert response.error_code == error
    assert state_of(connection, name) == "Ongoing"


@pytest.mark.parametrize("step", [-1, 1])
def test_another_epoch_is_refused(topic: str, transactional: NewProducer, step: int):
    producer = transactional()
    producer.start()
    producer.send(topic, b"a")

    code = end(producer, commit=True, producer_epoch=producer.epoch + step)

    assert code == ErrorCode.producer_fenced


def test_another_producer_id_is_refused(topic: str, transactional: NewProducer):
    producer = transactional()
    producer.send(topic, b"a")

    code = end(producer, commit=True, producer_id=producer.producer_id + 1)

    assert code == ErrorCode.invalid_producer_id_mapping


def test_unknown_transactional_id_is_refused(transactional: NewProducer):
    code = end(transactional(), commit=True, transactional_id="nobody")

    assert code == ErrorCode.invalid_producer_id_mapping


def test_empty_transactional_id_is_refused(transactional: NewProducer):
    assert end(transactional(), commit=True, transactional_id="") == ErrorCode.invalid_request


def test_transaction_that_takes_too_long_is_aborted_and_its_client_fenced(
    connection: Connection, topic: str, transactional: NewProducer
):
    producer = transactional(timeout_ms=500)
    producer.send(topic, b"too late")
    producer.await_state("CompleteAbort")

    described = describe(connection, producer.transactional_id)

    assert described.producer_epoch == producer.epoch + 1
    assert committed_values(connection, topic) == []
    if producer.dialect.bumps_epochs:
        # One epoch on, it looks like the retry of a request that has aborted.
        assert end(producer, commit=False) == ErrorCode.none
        assert end(producer, commit=True) == ErrorCode.invalid_txn_state
    else:
        assert end(producer, commit=True) == ErrorCode.producer_fenced
    answer = producer.produce(topic, producer.records(b"late", sequence=1))
    assert answer.error_code == ErrorCode.invalid_producer_epoch


def test_client_whose_transaction_timed_out_may_come_back(
    connection: Connection, topic: str, transactional: NewProducer
):
    producer = transactional(timeout_ms=500)
    producer.send(topic, b"too late")
    producer.await_state("CompleteAbort")
    producer.timeout_ms = 60_000

    producer.start(producer_id=producer.producer_id, producer_epoch=producer.epoch)
    producer.send(topic, b"in time")
    producer.commit()

    assert committed_values(connection, topic) == [b"in time"]
