"""DeleteRecords: move a partition's start forward, durably."""

from headwater.broker.context import RequestContext
from headwater.errors import HeadwaterError
from headwater.wire.error_codes import ErrorCode, code_of
from headwater.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

HIGH_WATERMARK = -1


async def delete_records(
    request: DeleteRecordsRequest, context: RequestContext
) -> DeleteRecordsResponse:
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[await _delete(topic.name, each, context) for each in topic.partitions],
            )
            for topic in request.topics
        ]
    )


async def _delete(
    name: str, asked: DeleteRecordsPartition, context: RequestContext
) -> DeleteRecordsPartitionResult:
    result = DeleteRecordsPartitionResult(partition_index=asked.partition_index, low_watermark=-1)
    topic = context.broker.topics.get(name)
    partition = topic.partition(asked.partition_index) if topic is not None else None
    if topic is None or partition is None:
        result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return result
    if topic.is_internal:
        result.error_code = ErrorCode.INVALID_TOPIC_EXCEPTION
        return result
    settings = context.broker.topics.settings_of(topic)
    if settings.is_compacted and not settings.is_deleted:
        result.error_code = ErrorCode.POLICY_VIOLATION
        return result
    if asked.offset < HIGH_WATERMARK:
        result.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
        return result
    try:
        with partition.kept_open() as log:
            await context.broker.committer.settle(partition)
            target = log.high_watermark if asked.offset == HIGH_WATERMARK else asked.offset
            removal = log.advance_start(target)
            await context.broker.read_on_thread(removal.run)
            result.low_watermark = log.log_start_offset
    except HeadwaterError as error:
        result.error_code = code_of(error)
    return result
