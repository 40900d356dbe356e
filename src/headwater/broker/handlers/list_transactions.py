"""ListTransactions: transactional ids by state, producer id, duration and pattern."""

from typing import Final

from headwater.broker.context import RequestContext
from headwater.broker.transactions.patterns import compiled
from headwater.broker.transactions.transaction import Transaction
from headwater.broker.transactions.transaction import TransactionState as State
from headwater.errors import InvalidRequest
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)

KNOWN_STATES: Final = {each.shown for each in State} | {"Dead", "PrepareEpochFence"}
"""Kafka knows two more, in which no transaction is ever seen here."""


def list_transactions(
    request: ListTransactionsRequest, context: RequestContext
) -> ListTransactionsResponse:
    try:
        pattern = compiled(request.transactional_id_pattern or "")
    except InvalidRequest:
        return ListTransactionsResponse(error_code=ErrorCode.INVALID_REGULAR_EXPRESSION)
    now_ms = context.broker.clock.now_ms()
    return ListTransactionsResponse(
        unknown_state_filters=[each for each in request.state_filters if each not in KNOWN_STATES],
        transaction_states=[
            TransactionState(
                transactional_id=each.transactional_id,
                producer_id=each.producer.id,
                transaction_state=each.state.shown,
            )
            for each in context.broker.transactions
            if _is_wanted(each, request, now_ms)
            and (not pattern.pattern or pattern.fullmatch(each.transactional_id))
        ],
    )


def _is_wanted(transaction: Transaction, request: ListTransactionsRequest, now_ms: int) -> bool:
    if request.producer_id_filters and transaction.producer.id not in request.producer_id_filters:
        return False
    if request.state_filters and transaction.state.shown not in request.state_filters:
        return False
    duration_ms = now_ms - transaction.started_at_ms
    return request.duration_filter < 0 or duration_ms > request.duration_filter
