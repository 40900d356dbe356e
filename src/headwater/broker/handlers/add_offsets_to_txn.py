"""AddOffsetsToTxn: a transaction will commit offsets of a group."""

from headwater.broker.context import RequestContext
from headwater.broker.handlers.add_partitions_to_txn import CHANNEL
from headwater.broker.transactions.markers import OFFSETS
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from headwater.wire.record_batch import ProducerIdAndEpoch

FIRST_VERSION_WITH_FENCED = 2


async def add_offsets_to_txn(
    request: AddOffsetsToTxnRequest, context: RequestContext
) -> AddOffsetsToTxnResponse:
    transactions = context.broker.transactions
    producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    transactions.refuse_late(CHANNEL, request.transactional_id, producer, context.connection)
    await transactions.ready(request.transactional_id)
    code = transactions.add_ahead(request.transactional_id, producer, {OFFSETS}, 0)
    if code is ErrorCode.PRODUCER_FENCED and context.version < FIRST_VERSION_WITH_FENCED:
        code = ErrorCode.INVALID_PRODUCER_EPOCH
    return AddOffsetsToTxnResponse(error_code=code)
