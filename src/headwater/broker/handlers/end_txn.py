"""EndTxn: commit or abort; since version 5 the answer has the producer's next epoch (KIP-890)."""

from headwater.broker.context import RequestContext
from headwater.broker.handlers.add_partitions_to_txn import CHANNEL
from headwater.broker.transactions.transaction import BUMPS_EPOCHS
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from headwater.wire.record_batch import ProducerIdAndEpoch

FIRST_VERSION_WITH_NEW_EPOCH = 5
FIRST_VERSION_WITH_FENCED = 2


async def end_txn(request: EndTxnRequest, context: RequestContext) -> EndTxnResponse:
    transactions = context.broker.transactions
    producer = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    has_new_epoch = context.version >= FIRST_VERSION_WITH_NEW_EPOCH
    if not has_new_epoch:
        transactions.refuse_late(CHANNEL, request.transactional_id, producer, context.connection)
    answer = await transactions.end(
        request.transactional_id,
        producer,
        is_commit=request.committed,
        version=BUMPS_EPOCHS if has_new_epoch else 0,
    )
    code = answer.error
    if code is ErrorCode.PRODUCER_FENCED and context.version < FIRST_VERSION_WITH_FENCED:
        code = ErrorCode.INVALID_PRODUCER_EPOCH
    return EndTxnResponse(
        error_code=code, producer_id=answer.producer.id, producer_epoch=answer.producer.epoch
    )
