"""InitProducerId: identities of idempotent and transactional producers."""

import pytest

from conformance.calls import new_producer_id
from conformance.raw import Connection, ErrorCode

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
