"""DescribeProducers: the producers a partition remembers, and where their open transactions begin."""

from headwater.broker.context import RequestContext
from headwater.errors import HeadwaterError
from headwater.log.producers import NO_OFFSET
from headwater.wire.error_codes import ErrorCode, code_of
from headwater.wire.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)


def describe_producers(
    request: DescribeProducersRequest, context: RequestContext
) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name,
                partitions=[
                    _partition(topic.name, each, context) for each in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


def _partition(name: str, index: int, context: RequestContext) -> PartitionResponse:
    topic = context.broker.topics.get(name)
    partition = topic.partition(index) if topic is not None else None
    if partition is None:
        error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return PartitionResponse(partition_index=index, error_code=error)
    try:
        producers = list(partition.log.producers)
        open_transactions = dict(partition.log.producers.transactions)
    except HeadwaterError as failure:
        return PartitionResponse(partition_index=index, error_code=code_of(failure))
    return PartitionResponse(
        partition_index=index,
        active_producers=[
            ProducerState(
                producer_id=producer_id,
                producer_epoch=state.epoch,
                last_sequence=state.batches[-1].last_sequence if state.batches else -1,
                last_timestamp=state.last_timestamp,
                coordinator_epoch=state.coordinator_epoch,
                current_txn_start_offset=open_transactions.get(producer_id, NO_OFFSET),
            )
            for producer_id, state in producers
        ],
    )
