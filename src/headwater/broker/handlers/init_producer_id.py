"""InitProducerId: an id for an idempotent producer, or the next epoch of a transactional one."""

from headwater.broker.context import RequestContext
from headwater.errors import HeadwaterError
from headwater.wire.error_codes import ErrorCode, code_of
from headwater.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from headwater.wire.record_batch import NO_EPOCH, NO_PRODUCER, NOBODY, ProducerIdAndEpoch

FIRST_VERSION_WITH_FENCED = 4


async def init_producer_id(
    request: InitProducerIdRequest, context: RequestContext
) -> InitProducerIdResponse:
    expected = ProducerIdAndEpoch(request.producer_id, request.producer_epoch)
    if (expected.id == NO_PRODUCER) != (expected.epoch == NO_EPOCH):
        return _refused(ErrorCode.INVALID_REQUEST)
    if request.transactional_id is not None:
        return await _transactional(request, expected, context)
    try:
        return InitProducerIdResponse(producer_id=await context.broker.producer_ids.allocate())
    except HeadwaterError as error:
        return _refused(code_of(error))


async def _transactional(
    request: InitProducerIdRequest, expected: ProducerIdAndEpoch, context: RequestContext
) -> InitProducerIdResponse:
    answer = await context.broker.transactions.initialize(
        request.transactional_id or "",
        request.transaction_timeout_ms,
        None if expected == NOBODY else expected,
    )
    if answer.error is ErrorCode.PRODUCER_FENCED and context.version < FIRST_VERSION_WITH_FENCED:
        return _refused(ErrorCode.INVALID_PRODUCER_EPOCH)
    if answer.error:
        return _refused(answer.error)
    return InitProducerIdResponse(
        producer_id=answer.producer.id, producer_epoch=answer.producer.epoch
    )


def _refused(code: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=code, producer_epoch=NO_EPOCH)
