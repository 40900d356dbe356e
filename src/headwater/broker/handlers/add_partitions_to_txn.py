"""AddPartitionsToTxn: the partitions that a transaction writes to; since version 4, for several at once.

Later ones are for brokers, which also ask whether a partition was added; some clients use them too.
"""

from collections.abc import Sequence

from headwater.broker.context import RequestContext
from headwater.broker.groups.records import TopicPartition
from headwater.broker.transactions.markers import OFFSETS
from headwater.broker.transactions.transaction import BUMPS_EPOCHS
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from headwater.wire.record_batch import ProducerIdAndEpoch

FIRST_VERSION_OF_BROKERS = 4
FIRST_VERSION_WITH_FENCED = 2
CHANNEL = "coordinator"


async def add_partitions_to_txn(
    request: AddPartitionsToTxnRequest, context: RequestContext
) -> AddPartitionsToTxnResponse:
    if context.version >= FIRST_VERSION_OF_BROKERS:
        for each in request.transactions:
            _refuse_late(each, context)
        return AddPartitionsToTxnResponse(
            results_by_transaction=[
                AddPartitionsToTxnResult(
                    transactional_id=each.transactional_id,
                    topic_results=await _add(each, context),
                )
                for each in request.transactions
            ]
        )
    transaction = AddPartitionsToTxnTransaction(
        transactional_id=request.v3_and_below_transactional_id,
        producer_id=request.v3_and_below_producer_id,
        producer_epoch=request.v3_and_below_producer_epoch,
        topics=request.v3_and_below_topics,
    )
    _refuse_late(transaction, context)
    return AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=await _add(transaction, context)
    )


def _refuse_late(transaction: AddPartitionsToTxnTransaction, context: RequestContext) -> None:
    if not transaction.verify_only:
        context.broker.transactions.refuse_late(
            CHANNEL, transaction.transactional_id, _producer_of(transaction), context.connection
        )


async def _add(
    transaction: AddPartitionsToTxnTransaction, context: RequestContext
) -> list[AddPartitionsToTxnTopicResult]:
    asked = [
        TopicPartition(topic.name, index)
        for topic in transaction.topics
        for index in topic.partitions
    ]
    refused = {each: code for each in asked if (code := _refusal(each, context))}
    if refused:
        codes = dict.fromkeys(asked, ErrorCode.OPERATION_NOT_ATTEMPTED) | refused
    else:
        codes = await _ask(transaction, asked, context)
    return _results(transaction.topics, codes)


def _refusal(partition: TopicPartition, context: RequestContext) -> ErrorCode:
    topic = context.broker.topics.get(partition.topic)
    is_for_brokers = context.version >= FIRST_VERSION_OF_BROKERS and partition == OFFSETS
    if topic is not None and topic.is_internal and not is_for_brokers:
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if topic is None or topic.partition(partition.partition) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE


async def _ask(
    transaction: AddPartitionsToTxnTransaction,
    partitions: Sequence[TopicPartition],
    context: RequestContext,
) -> dict[TopicPartition, ErrorCode]:
    transactions = context.broker.transactions
    producer = _producer_of(transaction)
    if transaction.verify_only:
        return {
            each: transactions.verify(transaction.transactional_id, producer, each)
            for each in partitions
        }
    version = BUMPS_EPOCHS if context.version >= FIRST_VERSION_OF_BROKERS else 0
    await transactions.ready(transaction.transactional_id)
    code = transactions.add_ahead(transaction.transactional_id, producer, set(partitions), version)
    if code is ErrorCode.PRODUCER_FENCED and context.version < FIRST_VERSION_WITH_FENCED:
        code = ErrorCode.INVALID_PRODUCER_EPOCH
    return dict.fromkeys(partitions, code)


def _producer_of(transaction: AddPartitionsToTxnTransaction) -> ProducerIdAndEpoch:
    return ProducerIdAndEpoch(transaction.producer_id, transaction.producer_epoch)


def _results(
    topics: Sequence[AddPartitionsToTxnTopic], codes: dict[TopicPartition, ErrorCode]
) -> list[AddPartitionsToTxnTopicResult]:
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(
                    partition_index=index,
                    partition_error_code=codes[TopicPartition(topic.name, index)],
                )
                for index in topic.partitions
            ],
        )
        for topic in topics
    ]
