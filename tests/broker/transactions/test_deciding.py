"""What requests may do to a transaction, as tables of states, epochs and who asks."""

import pytest

from broker.transactions.fakes import NEW, OLD, ONE, TWO
from headwater.broker.transactions import deciding
from headwater.broker.transactions.deciding import Ending, Initialization
from headwater.broker.transactions.transaction import (
    LARGEST_EPOCH,
    LAST_USED_EPOCH,
    Transaction,
    TransactionState,
)
from headwater.wire.error_codes import ErrorCode
from headwater.wire.record_batch import NO_EPOCH, NO_PRODUCER, ProducerIdAndEpoch

NOW_MS = 1000
FRESH_ID = 99
EMPTY, ONGOING = TransactionState.EMPTY, TransactionState.ONGOING
PREPARE_COMMIT, PREPARE_ABORT = TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT
COMPLETE_COMMIT, COMPLETE_ABORT = TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT
DONE = "done before"
FENCED = ErrorCode.PRODUCER_FENCED
INVALID = ErrorCode.INVALID_TXN_STATE
BUSY = ErrorCode.CONCURRENT_TRANSACTIONS
MAPPING = ErrorCode.INVALID_PRODUCER_ID_MAPPING


def transaction(state: TransactionState, epoch: int = 5, **fields: object) -> Transaction:
    is_open = state is ONGOING or state.is_prepared
    made = Transaction(
        "x",
        ProducerIdAndEpoch(7, epoch),
        timeout_ms=60_000,
        state=state,
        partitions=frozenset({ONE}) if is_open else frozenset(),
        started_at_ms=500,
        updated_at_ms=500,
        previous_producer_id=7,
    )
    return made._replace(**fields)


def shown(outcome: Transaction | ErrorCode) -> object:
    """The new state, an error, or that it was done before."""
    if isinstance(outcome, Transaction):
        return outcome.state
    return outcome or DONE


def end(
    before: Transaction,
    *,
    is_commit: bool,
    version: int,
    epoch: int | None = None,
    producer_id: int = 7,
) -> Transaction | ErrorCode:
    asked_epoch = before.producer.epoch if epoch is None else epoch
    asked = Ending(ProducerIdAndEpoch(producer_id, asked_epoch), is_commit, version, FRESH_ID)
    return deciding.end(before, asked, NOW_MS)


@pytest.mark.parametrize(
    ("state", "commit", "abort"),
    [
        (EMPTY, INVALID, INVALID),
        (ONGOING, PREPARE_COMMIT, PREPARE_ABORT),
        (PREPARE_COMMIT, BUSY, INVALID),
        (PREPARE_ABORT, INVALID, BUSY),
        (COMPLETE_COMMIT, DONE, INVALID),
        (COMPLETE_ABORT, INVALID, DONE),
    ],
)
def test_ends_before_version_2(state: TransactionState, commit: object, abort: object) -> None:
    before = transaction(state)

    assert shown(end(before, is_commit=True, version=OLD)) == commit
    assert shown(end(before, is_commit=False, version=OLD)) == abort
    for epoch in (4, 6):
        assert end(before, is_commit=True, version=OLD, epoch=epoch) is FENCED
    assert end(before, is_commit=True, version=OLD, producer_id=8) is MAPPING


@pytest.mark.parametrize(
    ("state", "commit", "abort", "commit_again", "abort_again"),
    [
        (EMPTY, INVALID, PREPARE_ABORT, FENCED, FENCED),
        (ONGOING, PREPARE_COMMIT, PREPARE_ABORT, FENCED, FENCED),
        (PREPARE_COMMIT, FENCED, FENCED, BUSY, INVALID),
        (PREPARE_ABORT, FENCED, FENCED, INVALID, BUSY),
        (COMPLETE_COMMIT, INVALID, PREPARE_ABORT, DONE, INVALID),
        (COMPLETE_ABORT, INVALID, PREPARE_ABORT, INVALID, DONE),
    ],
)
def test_ends_since_version_2(
    state: TransactionState,
    commit: object,
    abort: object,
    commit_again: object,
    abort_again: object,
) -> None:
    """Kafka's table: in the present epoch it is a new request, one epoch behind it is a retry."""
    before = transaction(state)

    assert shown(end(before, is_commit=True, version=NEW)) == commit
    assert shown(end(before, is_commit=False, version=NEW)) == abort
    assert shown(end(before, is_commit=True, version=NEW, epoch=4)) == commit_again
    assert shown(end(before, is_commit=False, version=NEW, epoch=4)) == abort_again
    for epoch in (3, 6):
        assert end(before, is_commit=True, version=NEW, epoch=epoch) is FENCED
    assert end(before, is_commit=True, version=NEW, producer_id=8) is MAPPING


def test_every_end_takes_the_next_epoch_since_version_2() -> None:
    old = end(transaction(ONGOING), is_commit=True, version=OLD)
    new = end(transaction(ONGOING), is_commit=True, version=NEW)

    assert isinstance(old, Transaction)
    assert isinstance(new, Transaction)
    assert (old.producer.epoch, old.completed(NOW_MS).producer.epoch) == (5, 5)
    assert (new.producer.epoch, new.last_epoch) == (6, 5)
    assert new.completed(NOW_MS).producer == ProducerIdAndEpoch(7, 6)
    assert new.partitions == {ONE}
    assert new.completed(NOW_MS).partitions == frozenset()


def test_client_whose_epochs_are_used_up_goes_on_with_a_new_id() -> None:
    before = transaction(ONGOING, LAST_USED_EPOCH)

    prepared = end(before, is_commit=True, version=NEW)
    assert isinstance(prepared, Transaction)
    complete = prepared.completed(NOW_MS)

    assert prepared.producer == ProducerIdAndEpoch(7, LARGEST_EPOCH)
    assert complete.producer == ProducerIdAndEpoch(FRESH_ID, 0)
    assert complete.previous_producer_id == 7
    # The client asks again, because it did not hear of its new id.
    again = end(complete, is_commit=True, version=NEW, epoch=LAST_USED_EPOCH)
    assert again is ErrorCode.NONE
    assert end(complete, is_commit=False, version=NEW, epoch=LAST_USED_EPOCH) is INVALID


def test_epochs_are_not_used_up_by_old_clients() -> None:
    prepared = end(transaction(ONGOING, LAST_USED_EPOCH), is_commit=True, version=OLD)

    assert isinstance(prepared, Transaction)
    assert prepared.completed(NOW_MS).producer == ProducerIdAndEpoch(7, LAST_USED_EPOCH)


def init(before: Transaction, expected: tuple[int, int] | None = None) -> Transaction | ErrorCode:
    named = None if expected is None else ProducerIdAndEpoch(*expected)
    return deciding.initialize(before, Initialization(30_000, named, FRESH_ID), NOW_MS)


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (EMPTY, EMPTY),
        (ONGOING, PREPARE_ABORT),
        (PREPARE_COMMIT, BUSY),
        (PREPARE_ABORT, BUSY),
        (COMPLETE_COMMIT, EMPTY),
        (COMPLETE_ABORT, EMPTY),
    ],
)
def test_new_client_takes_the_next_epoch(state: TransactionState, expected: object) -> None:
    outcome = init(transaction(state, last_epoch=4))

    assert shown(outcome) == expected
    if isinstance(outcome, Transaction):
        assert outcome.producer == ProducerIdAndEpoch(7, 6)
    if expected is EMPTY:
        assert isinstance(outcome, Transaction)
        assert (outcome.last_epoch, outcome.timeout_ms) == (NO_EPOCH, 30_000)


def test_client_that_comes_back_is_known_by_its_epoch_or_the_one_before() -> None:
    before = transaction(COMPLETE_COMMIT, last_epoch=4)

    present, retried = init(before, (7, 5)), init(before, (7, 4))

    assert isinstance(present, Transaction)
    assert isinstance(retried, Transaction)
    assert (present.producer.epoch, present.last_epoch) == (6, 5)
    assert (retried.producer.epoch, retried.last_epoch) == (5, 4)
    for stranger in ((7, 3), (7, 6), (8, 5)):
        assert init(before, stranger) is FENCED


def test_zombie_cannot_abort_its_successors_transaction_by_coming_back() -> None:
    assert init(transaction(ONGOING), (7, 4)) is FENCED
    assert shown(init(transaction(ONGOING), (7, 5))) is PREPARE_ABORT


def test_new_id_follows_the_last_epoch() -> None:
    before = transaction(COMPLETE_COMMIT, LAST_USED_EPOCH)

    anonymous, named = init(before), init(before, (7, LAST_USED_EPOCH))

    assert isinstance(anonymous, Transaction)
    assert isinstance(named, Transaction)
    assert anonymous.producer == named.producer == ProducerIdAndEpoch(FRESH_ID, 0)
    assert (anonymous.last_epoch, named.last_epoch) == (NO_EPOCH, LAST_USED_EPOCH)
    again = init(named, (7, LAST_USED_EPOCH))
    assert isinstance(again, Transaction)
    assert again.producer == ProducerIdAndEpoch(FRESH_ID, 0)


def test_fencing_the_last_epoch_is_still_possible() -> None:
    prepared = init(transaction(ONGOING, LAST_USED_EPOCH))

    assert isinstance(prepared, Transaction)
    assert prepared.producer.epoch == LARGEST_EPOCH
    assert prepared.completed(NOW_MS).producer == ProducerIdAndEpoch(FRESH_ID, 0)


def test_partitions_are_added_in_the_present_epoch_only() -> None:
    before = transaction(ONGOING)
    me = before.producer

    def add(producer: ProducerIdAndEpoch, state: TransactionState = ONGOING) -> object:
        made = transaction(state)
        return shown(deciding.add_partitions(made, producer, {TWO}, OLD, NOW_MS))

    assert add(me) is ONGOING
    assert add(me._replace(epoch=4)) is FENCED
    assert add(me._replace(epoch=6)) is FENCED
    assert add(me._replace(id=8)) is MAPPING
    assert add(me, EMPTY) is ONGOING
    assert add(me, COMPLETE_ABORT) is ONGOING
    assert add(me, PREPARE_ABORT) is BUSY
    assert shown(deciding.add_partitions(before, me, {ONE}, OLD, NOW_MS)) == DONE


def test_transaction_begins_with_its_first_partition() -> None:
    begun = transaction(COMPLETE_COMMIT).with_partitions([ONE], OLD, NOW_MS)
    later = begun.with_partitions([TWO], OLD, NOW_MS + 5)

    assert (begun.started_at_ms, later.started_at_ms) == (NOW_MS, NOW_MS)
    assert later.partitions == {ONE, TWO}
    assert later.updated_at_ms == NOW_MS + 5


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        (ONGOING, ErrorCode.NONE),
        (EMPTY, ErrorCode.TRANSACTION_ABORTABLE),
        (COMPLETE_COMMIT, ErrorCode.TRANSACTION_ABORTABLE),
        (PREPARE_COMMIT, BUSY),
        (PREPARE_ABORT, BUSY),
    ],
)
def test_records_are_written_while_the_transaction_is_open(
    state: TransactionState, expected: ErrorCode
) -> None:
    before = transaction(state)

    assert deciding.verify_partition(before, before.producer, ONE) is expected
    stale = before.producer._replace(epoch=4)
    assert deciding.verify_partition(before, stale, ONE) is FENCED
    if state is ONGOING:
        other = deciding.verify_partition(before, before.producer, TWO)
        assert other is ErrorCode.TRANSACTION_ABORTABLE


def test_rotation_is_not_prepared_while_epochs_are_left() -> None:
    prepared = end(transaction(ONGOING), is_commit=True, version=NEW)

    assert isinstance(prepared, Transaction)
    assert prepared.next_producer_id == NO_PRODUCER
