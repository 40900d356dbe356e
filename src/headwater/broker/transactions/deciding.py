"""What a request may do to a transaction: a table of states and epochs, as Kafka answers them.

Each function returns the transaction as it becomes, or the error that the client gets. `NONE` as an error
means: this was done before, the request is a retry.
"""

from collections.abc import Set as AbstractSet
from typing import NamedTuple

from headwater.broker.groups.records import TopicPartition
from headwater.broker.transactions.transaction import (
    BUMPS_EPOCHS,
    LAST_USED_EPOCH,
    Transaction,
    TransactionState,
)
from headwater.wire.error_codes import ErrorCode
from headwater.wire.record_batch import NO_EPOCH, NO_PRODUCER, ProducerIdAndEpoch


class Initialization(NamedTuple):
    """InitProducerId; `expected` is what a client that comes back believes itself to be (KIP-360)."""

    timeout_ms: int
    expected: ProducerIdAndEpoch | None
    fresh_producer_id: int
    """To be used if the epochs of the present one are used up."""


def initialize(
    transaction: Transaction, asked: Initialization, now_ms: int
) -> Transaction | ErrorCode:
    """Give the client an epoch that fences whoever used the id before.

    An ongoing transaction is prepared to abort; the client has to ask again once it is complete.
    """
    if asked.expected is not None and not _may_come_back(transaction, asked.expected):
        return ErrorCode.PRODUCER_FENCED
    if transaction.state.is_prepared:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    if transaction.state is TransactionState.ONGOING:
        if asked.expected not in (None, transaction.producer):
            return ErrorCode.PRODUCER_FENCED  # Stricter than Kafka: a zombie aborts nobody's work.
        return fenced(transaction, asked.fresh_producer_id, now_ms)
    expected_epoch = None if asked.expected is None else asked.expected.epoch
    return _next_epoch(transaction, asked, expected_epoch, now_ms)


def _next_epoch(
    transaction: Transaction, asked: Initialization, expected_epoch: int | None, now_ms: int
) -> Transaction | ErrorCode:
    epoch, timeout_ms = transaction.producer.epoch, asked.timeout_ms
    if transaction.is_epoch_exhausted and expected_epoch in (None, epoch):
        last_epoch = NO_EPOCH if expected_epoch is None else epoch
        fresh = asked.fresh_producer_id
        return transaction.with_producer_id(fresh, last_epoch, timeout_ms, now_ms)
    if expected_epoch is None:
        return transaction.with_epoch(epoch + 1, NO_EPOCH, timeout_ms, now_ms)
    if transaction.is_new or expected_epoch == epoch:
        return transaction.with_epoch(epoch + 1, epoch, timeout_ms, now_ms)
    if expected_epoch == transaction.last_epoch:
        # A retry: nobody else was initialized since, or there would be no last epoch.
        return transaction.with_epoch(epoch, expected_epoch, timeout_ms, now_ms)
    return ErrorCode.PRODUCER_FENCED


def fenced(transaction: Transaction, fresh_producer_id: int, now_ms: int) -> Transaction:
    """Abort an ongoing transaction whose client is replaced, or took too long."""
    return transaction.prepared(
        is_commit=False,
        version=BUMPS_EPOCHS,
        next_producer_id=fresh_producer_id if transaction.is_epoch_exhausted else NO_PRODUCER,
        now_ms=now_ms,
    )


def add_partitions(
    transaction: Transaction,
    producer: ProducerIdAndEpoch,
    partitions: AbstractSet[TopicPartition],
    version: int,
    now_ms: int,
) -> Transaction | ErrorCode:
    """Take part in these partitions."""
    refusal = _refuse_stranger(transaction, producer)
    if refusal:
        return refusal
    if transaction.state is TransactionState.ONGOING and partitions <= transaction.partitions:
        return ErrorCode.NONE
    return transaction.with_partitions(partitions, version, now_ms)


def verify_partition(
    transaction: Transaction, producer: ProducerIdAndEpoch, partition: TopicPartition
) -> ErrorCode:
    """Whether the producer may write to this partition now."""
    refusal = _refuse_stranger(transaction, producer)
    if refusal:
        return refusal
    is_in = transaction.state is TransactionState.ONGOING and partition in transaction.partitions
    return ErrorCode.NONE if is_in else ErrorCode.TRANSACTION_ABORTABLE


class Ending(NamedTuple):
    """EndTxn."""

    producer: ProducerIdAndEpoch
    is_commit: bool
    version: int
    fresh_producer_id: int
    """To be used if the epochs of the present one are used up."""


def end(transaction: Transaction, asked: Ending, now_ms: int) -> Transaction | ErrorCode:
    """Prepare to commit or abort; the epoch tells a late request from a present one."""
    decide = _end_with_new_epoch if asked.version >= BUMPS_EPOCHS else _end_in_same_epoch
    outcome = decide(transaction, asked)
    if outcome is not None:
        return outcome
    is_exhausted = asked.version >= BUMPS_EPOCHS and transaction.is_epoch_exhausted
    return transaction.prepared(
        is_commit=asked.is_commit,
        version=asked.version,
        next_producer_id=asked.fresh_producer_id if is_exhausted else NO_PRODUCER,
        now_ms=now_ms,
    )


def _end_in_same_epoch(transaction: Transaction, asked: Ending) -> ErrorCode | None:
    """Before version 2: a transaction that has ended the same way was ended by this request."""
    if transaction.producer.id != asked.producer.id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if transaction.producer.epoch != asked.producer.epoch:
        return ErrorCode.PRODUCER_FENCED
    if transaction.state is TransactionState.ONGOING:
        return None
    if transaction.state is TransactionState.EMPTY or transaction.is_commit != asked.is_commit:
        return ErrorCode.INVALID_TXN_STATE
    if transaction.state.is_prepared:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    return ErrorCode.NONE


def _end_with_new_epoch(transaction: Transaction, asked: Ending) -> ErrorCode | None:
    """Since version 2: a retry still has the epoch before; in the present epoch it is a new request.

    A client that does not know whether it has written anything may abort what was never begun.
    """
    is_retry = _is_retry(transaction, asked.producer)
    if transaction.producer.id != asked.producer.id and not is_retry:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    is_present = transaction.producer == asked.producer
    state = transaction.state
    if state.is_prepared:
        if not is_retry:
            return ErrorCode.PRODUCER_FENCED
        is_same = transaction.is_commit == asked.is_commit
        return ErrorCode.CONCURRENT_TRANSACTIONS if is_same else ErrorCode.INVALID_TXN_STATE
    if state in (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT) and is_retry:
        is_same = transaction.is_commit == asked.is_commit
        return ErrorCode.NONE if is_same else ErrorCode.INVALID_TXN_STATE
    if not is_present:
        return ErrorCode.PRODUCER_FENCED
    if state is TransactionState.ONGOING or not asked.is_commit:
        return None
    return ErrorCode.INVALID_TXN_STATE


def _is_retry(transaction: Transaction, producer: ProducerIdAndEpoch) -> bool:
    """Whether this producer has taken its next epoch since, or its next id."""
    has_new_epoch = transaction.producer == (producer.id, producer.epoch + 1)
    has_new_id = (
        transaction.previous_producer_id == producer.id
        and producer.epoch == LAST_USED_EPOCH
        and transaction.producer.epoch == 0
    )
    return has_new_epoch or has_new_id


def _may_come_back(transaction: Transaction, expected: ProducerIdAndEpoch) -> bool:
    is_rotated = (
        expected.id == transaction.previous_producer_id and expected.epoch >= LAST_USED_EPOCH
    )
    return transaction.is_new or expected.id == transaction.producer.id or is_rotated


def _refuse_stranger(transaction: Transaction, producer: ProducerIdAndEpoch) -> ErrorCode:
    if transaction.producer.id != producer.id:
        return ErrorCode.INVALID_PRODUCER_ID_MAPPING
    if transaction.producer.epoch != producer.epoch:
        return ErrorCode.PRODUCER_FENCED
    if transaction.state.is_prepared:
        return ErrorCode.CONCURRENT_TRANSACTIONS
    return ErrorCode.NONE
