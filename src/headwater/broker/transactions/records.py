"""Transactions as records of `__transaction_state`, as Kafka writes them.

    key   := version:int16 (= 0) transactional_id:string
    value := version:int16 (= 1) body                      null: the id has expired

The body is a message in Kafka's own schema, with one tagged field of ours (100): the last epoch, so that a
client whose answer was lost in a restart is known when it comes back.
"""

import struct
from collections.abc import Sequence

from headwater.broker.groups.records import Record, TopicPartition
from headwater.broker.transactions.transaction import Transaction, TransactionState
from headwater.errors import Corruption, InvalidRequest
from headwater.wire.codec import decode, encode_bytes
from headwater.wire.record_batch import ProducerIdAndEpoch
from headwater.wire.schema import Message, Struct, field

_VERSION = struct.Struct(">h")
_KEY_VERSION = 0
_VALUE_VERSION = 1
_STATES = {each.number: each for each in TransactionState}


class TransactionLogKey(Message, api_key=0, versions=(0, 0)):
    transactional_id: str = field("string", default="")


class PartitionsSchema(Struct):
    topic: str = field("string", default="")
    partition_ids: Sequence[int] = field(["int32"], default=())


class TransactionLogValue(Message, api_key=0, versions=(0, 1), flexible_since=1):
    producer_id: int = field("int64", default=0)
    previous_producer_id: int = field("int64", default=-1, since=1, tag=0)
    next_producer_id: int = field("int64", default=-1, since=1, tag=1)
    producer_epoch: int = field("int16", default=0)
    transaction_timeout_ms: int = field("int32", default=0)
    transaction_status: int = field("int8", default=0)
    transaction_partitions: Sequence[PartitionsSchema] | None = field(
        [PartitionsSchema], default=(), nullable=0
    )
    transaction_last_update_timestamp_ms: int = field("int64", default=0)
    transaction_start_timestamp_ms: int = field("int64", default=0)
    client_transaction_version: int = field("int16", default=0, since=1, tag=2)
    last_producer_epoch: int = field("int16", default=-1, since=1, tag=100)


def encode_transaction(transactional_id: str, transaction: Transaction | None) -> Record:
    """Write the state of a transactional id; None: it is forgotten."""
    key = _VERSION.pack(_KEY_VERSION) + encode_bytes(
        TransactionLogKey(transactional_id=transactional_id), _KEY_VERSION
    )
    if transaction is None:
        return key, None
    value = TransactionLogValue(
        producer_id=transaction.producer.id,
        previous_producer_id=transaction.previous_producer_id,
        next_producer_id=transaction.next_producer_id,
        producer_epoch=transaction.producer.epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state.number,
        transaction_partitions=_by_topic(transaction),
        transaction_last_update_timestamp_ms=transaction.updated_at_ms,
        transaction_start_timestamp_ms=transaction.started_at_ms,
        client_transaction_version=transaction.version,
        last_producer_epoch=transaction.last_epoch,
    )
    return key, _VERSION.pack(_VALUE_VERSION) + encode_bytes(value, _VALUE_VERSION)


def decode_transaction(key: bytes, value: bytes | None) -> tuple[str, Transaction | None]:
    """Read one record; raises `Corruption`."""
    try:
        (key_version,) = _VERSION.unpack_from(key)
        if key_version != _KEY_VERSION:
            raise Corruption(f"a transaction record has key version {key_version}")
        named = decode(TransactionLogKey, key_version, memoryview(key), _VERSION.size)
        if value is None:
            return named.transactional_id, None
        (version,) = _VERSION.unpack_from(value)
        if version not in TransactionLogValue.versions:
            raise Corruption(f"a transaction record has version {version}")
        body = decode(TransactionLogValue, version, memoryview(value), _VERSION.size)
        return named.transactional_id, _transaction(named.transactional_id, body)
    except (struct.error, InvalidRequest, KeyError) as error:
        raise Corruption("unreadable transaction record") from error


def _transaction(transactional_id: str, value: TransactionLogValue) -> Transaction:
    return Transaction(
        transactional_id=transactional_id,
        producer=ProducerIdAndEpoch(value.producer_id, value.producer_epoch),
        timeout_ms=value.transaction_timeout_ms,
        state=_STATES[value.transaction_status],
        partitions=frozenset(
            TopicPartition(each.topic, index)
            for each in value.transaction_partitions or ()
            for index in each.partition_ids
        ),
        started_at_ms=value.transaction_start_timestamp_ms,
        updated_at_ms=value.transaction_last_update_timestamp_ms,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        last_epoch=value.last_producer_epoch,
        version=value.client_transaction_version,
    )


def _by_topic(transaction: Transaction) -> list[PartitionsSchema] | None:
    if transaction.state is TransactionState.EMPTY:
        return None
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(transaction.partitions):
        topics.setdefault(topic, []).append(index)
    return [PartitionsSchema(topic=name, partition_ids=each) for name, each in topics.items()]
