"""Transactional batches in a produce request: each must belong to a transaction that is open now.

Since Produce version 12 a batch adds its partition to the transaction; before, AddPartitionsToTxn has done
so (KIP-890). Either way nothing is written that the coordinator would not end.
"""

from collections.abc import Mapping
from typing import Final

from headwater.broker.groups.records import TopicPartition
from headwater.broker.transactions.coordinator import Transactions
from headwater.broker.transactions.transaction import BUMPS_EPOCHS
from headwater.wire.error_codes import ErrorCode
from headwater.wire.record_batch import BatchHeader

FIRST_VERSION_THAT_ADDS: Final = 12
FIRST_VERSION_WITH_ABORTABLE: Final = 11
CHANNEL: Final = "produce"


def transaction_version(version: int) -> int:
    return BUMPS_EPOCHS if version >= FIRST_VERSION_THAT_ADDS else 0


def admit_batches(
    transactions: Transactions,
    transactional_id: str,
    batches: Mapping[TopicPartition, BatchHeader],
    *,
    version: int,
    connection: int,
) -> dict[TopicPartition, ErrorCode]:
    """Return for each transactional batch whether it may be written.

    Raises `Superseded` for a request that was overtaken on a newer connection of its client, and `TooEarly`
    for one that must be handled again, a moment later.
    """
    transactions.refuse_early(transactional_id)
    producers = {each.producer for each in batches.values()}
    if len(producers) > 1:
        return dict.fromkeys(batches, ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    (producer,) = producers
    if version >= FIRST_VERSION_THAT_ADDS:
        added = transactions.add(transactional_id, producer, batches.keys(), BUMPS_EPOCHS)
        codes = dict.fromkeys(batches, added)
    else:
        transactions.refuse_late(CHANNEL, transactional_id, producer, connection)
        codes = {each: transactions.verify(transactional_id, producer, each) for each in batches}
    return {each: _for_producers(code, version) for each, code in codes.items()}


def _for_producers(code: ErrorCode, version: int) -> ErrorCode:
    """Translate what the coordinator says into what a producer of this version understands."""
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if code is ErrorCode.TRANSACTION_ABORTABLE and version < FIRST_VERSION_WITH_ABORTABLE:
        return ErrorCode.INVALID_TXN_STATE
    is_passing = code in (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)
    if is_passing or (
        code is ErrorCode.CONCURRENT_TRANSACTIONS and version < FIRST_VERSION_THAT_ADDS
    ):
        return ErrorCode.NOT_ENOUGH_REPLICAS  # What old producers retry without a new look-up.
    return code
