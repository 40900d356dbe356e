"""InitProducerId: an id for an idempotent producer. Transactions are refused until they exist."""

from headwater.broker.context import RequestContext
from headwater.errors import HeadwaterError
from headwater.wire.error_codes import ErrorCode, code_of
from headwater.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse


async def init_producer_id(
    request: InitProducerIdRequest, context: RequestContext
) -> InitProducerIdResponse:
    if request.transactional_id is not None:
        return InitProducerIdResponse(error_code=_transactional_error(request, context))
    try:
        return InitProducerIdResponse(producer_id=await context.broker.producer_ids.allocate())
    except HeadwaterError as error:
        return InitProducerIdResponse(error_code=code_of(error))


def _transactional_error(request: InitProducerIdRequest, context: RequestContext) -> ErrorCode:
    if not request.transactional_id:
        return ErrorCode.INVALID_REQUEST
    longest = context.broker.settings.transaction_max_timeout_ms
    if not 0 < request.transaction_timeout_ms <= longest:
        return ErrorCode.INVALID_TRANSACTION_TIMEOUT
    return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
