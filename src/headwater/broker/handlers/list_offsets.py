"""ListOffsets: the start, the end, or the first record at or after a time, exact to the record."""

import asyncio
from collections import Counter
from typing import Final

from headwater.broker.context import RequestContext
from headwater.broker.groups.records import TopicPartition
from headwater.broker.partition import Partition
from headwater.errors import HeadwaterError
from headwater.log.times import first_at_or_after, latest_time
from headwater.wire.error_codes import ErrorCode, code_of
from headwater.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

LATEST = -1
EARLIEST = -2
MAX_TIMESTAMP = -3
EARLIEST_LOCAL = -4
LATEST_TIERED = -5
EARLIEST_PENDING_UPLOAD = -6
READ_COMMITTED = 1
FIRST_VERSION_WITH: Final = {
    LATEST: 1,
    EARLIEST: 1,
    MAX_TIMESTAMP: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}


async def list_offsets(request: ListOffsetsRequest, context: RequestContext) -> ListOffsetsResponse:
    seen = Counter(
        (topic.name, each.partition_index) for topic in request.topics for each in topic.partitions
    )
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    _refused(each, ErrorCode.INVALID_REQUEST)
                    if seen[topic.name, each.partition_index] > 1
                    else await _list(topic.name, each, request.isolation_level, context)
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


async def _list(
    name: str, asked: ListOffsetsPartition, isolation_level: int, context: RequestContext
) -> ListOffsetsPartitionResponse:
    if asked.timestamp < 0 and not _knows(context.version, asked.timestamp):
        return _refused(asked, ErrorCode.UNSUPPORTED_VERSION)
    topic = context.broker.topics.get(name)
    partition = topic.partition(asked.partition_index) if topic is not None else None
    if partition is None:
        return _refused(asked, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if not partition.is_open:
        await asyncio.sleep(0)  # Opening takes a moment, and thousands may be asked for.
    try:
        error = partition.check_epoch(asked.current_leader_epoch)
        if error is not ErrorCode.NONE:
            return _refused(asked, error)
        return await _look_up(partition, asked, isolation_level, context)
    except HeadwaterError as failure:
        return _refused(asked, code_of(failure))


async def _look_up(
    partition: Partition, asked: ListOffsetsPartition, isolation_level: int, context: RequestContext
) -> ListOffsetsPartitionResponse:
    is_committed = isolation_level == READ_COMMITTED
    if is_committed:
        await context.broker.transactions.settled(TopicPartition(partition.topic, partition.index))
    await context.broker.committer.settle(partition)
    log = partition.log
    response = ListOffsetsPartitionResponse(partition_index=asked.partition_index)
    limit = log.last_stable_offset if is_committed else log.high_watermark
    if asked.timestamp in (EARLIEST, EARLIEST_LOCAL, LATEST):
        response.offset = limit if asked.timestamp == LATEST else log.log_start_offset
        response.leader_epoch = log.state.epoch_at(response.offset)
    elif asked.timestamp == MAX_TIMESTAMP or asked.timestamp >= 0:
        if asked.timestamp == MAX_TIMESTAMP:
            found = await context.broker.read_on_thread(latest_time, log, limit)
        else:
            found = await context.broker.read_on_thread(
                first_at_or_after, log, asked.timestamp, limit
            )
        if found is not None:
            response.offset, response.timestamp, response.leader_epoch = found
    return response


def _knows(version: int, timestamp: int) -> bool:
    return timestamp in FIRST_VERSION_WITH and version >= FIRST_VERSION_WITH[timestamp]


def _refused(asked: ListOffsetsPartition, error: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(partition_index=asked.partition_index, error_code=error)
