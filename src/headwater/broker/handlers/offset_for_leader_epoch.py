"""OffsetForLeaderEpoch: where an epoch ended, so that a client can tell whether its log was cut."""

from headwater.broker.context import RequestContext
from headwater.errors import HeadwaterError
from headwater.wire.error_codes import ErrorCode, code_of
from headwater.wire.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)


def offset_for_leader_epoch(
    request: OffsetForLeaderEpochRequest, context: RequestContext
) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[_look_up(topic.topic, each, context) for each in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _look_up(name: str, asked: OffsetForLeaderPartition, context: RequestContext) -> EpochEndOffset:
    response = EpochEndOffset(partition=asked.partition)
    topic = context.broker.topics.get(name)
    partition = topic.partition(asked.partition) if topic is not None else None
    if partition is None:
        response.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return response
    try:
        response.error_code = partition.check_epoch(asked.current_leader_epoch)
        if response.error_code == ErrorCode.NONE:
            log = partition.log
            response.leader_epoch, response.end_offset = log.state.end_of_epoch(
                asked.leader_epoch, log.high_watermark
            )
    except HeadwaterError as error:
        response.error_code = code_of(error)
    return response
