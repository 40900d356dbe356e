"""DescribeTransactions: what the coordinator knows of each transactional id."""

from headwater.broker.context import RequestContext
from headwater.broker.transactions.transaction import Transaction
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)


def describe_transactions(
    request: DescribeTransactionsRequest, context: RequestContext
) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=[_describe(each, context) for each in request.transactional_ids]
    )


def _describe(transactional_id: str, context: RequestContext) -> TransactionState:
    transaction = context.broker.transactions.find(transactional_id)
    if transaction is not None:
        return _state(transaction)
    return TransactionState(
        transactional_id=transactional_id,
        error_code=(
            ErrorCode.TRANSACTIONAL_ID_NOT_FOUND if transactional_id else ErrorCode.INVALID_REQUEST
        ),
    )


def _state(transaction: Transaction) -> TransactionState:
    topics: dict[str, list[int]] = {}
    for topic, index in sorted(transaction.partitions):
        topics.setdefault(topic, []).append(index)
    return TransactionState(
        transactional_id=transaction.transactional_id,
        transaction_state=transaction.state.shown,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.started_at_ms,
        producer_id=transaction.producer.id,
        producer_epoch=transaction.producer.epoch,
        topics=[TopicData(topic=name, partitions=each) for name, each in topics.items()],
    )
