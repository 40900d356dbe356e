"""DescribeTopicPartitions: topics page by page (KIP-966); what Java's `describeTopics` asks first."""

from headwater.broker.context import RequestContext
from headwater.broker.operations import ALL_ON_TOPIC, NOT_REQUESTED
from headwater.broker.partition import Partition
from headwater.broker.topics import Topic, check_topic_name
from headwater.errors import InvalidRequest
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseCursor,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

MOST_PARTITIONS_PER_PAGE = 2000


def describe_topic_partitions(
    request: DescribeTopicPartitionsRequest, context: RequestContext
) -> DescribeTopicPartitionsResponse:
    topics = context.broker.topics
    asked = {each.name for each in request.topics}
    names = sorted(asked or {each.name for each in topics})
    start = 0
    if request.cursor is not None:
        if not _is_sound(request.cursor, asked):
            refused = [_missing(each.name, ErrorCode.INVALID_REQUEST) for each in request.topics]
            return DescribeTopicPartitionsResponse(topics=refused)
        names = [each for each in names if each >= request.cursor.topic_name]
        is_same = bool(names) and names[0] == request.cursor.topic_name
        start = request.cursor.partition_index if is_same else 0
    room = max(1, min(request.response_partition_limit, MOST_PARTITIONS_PER_PAGE))
    response = DescribeTopicPartitionsResponse(topics=[])
    described = []
    for name in names:
        topic = topics.get(name)
        if topic is None:
            described.append(_missing(name, _why_missing(name), ALL_ON_TOPIC))
            continue
        if room == 0:
            response.next_cursor = _cursor(name, 0)
            break
        shown = topic.partitions[start : start + room]
        described.append(_topic(topic, shown, context.broker.node.node_id))
        room -= len(shown)
        if start + len(shown) < len(topic.partitions):
            response.next_cursor = _cursor(name, start + len(shown))
            break
        start = 0
    response.topics = described
    return response


def _is_sound(cursor: Cursor, asked: set[str]) -> bool:
    """Whether a page can begin there: at one of the topics that are asked for, if any are named."""
    return cursor.partition_index >= 0 and (not asked or cursor.topic_name in asked)


def _why_missing(name: str) -> ErrorCode:
    try:
        check_topic_name(name)
    except InvalidRequest:
        return ErrorCode.INVALID_TOPIC_EXCEPTION
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def _missing(
    name: str, error: ErrorCode, operations: int = NOT_REQUESTED
) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        error_code=error, name=name, topic_authorized_operations=operations
    )


def _cursor(name: str, index: int) -> DescribeTopicPartitionsResponseCursor:
    return DescribeTopicPartitionsResponseCursor(topic_name=name, partition_index=index)


def _topic(
    topic: Topic, partitions: list[Partition], node_id: int
) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.is_internal,
        partitions=[
            DescribeTopicPartitionsResponsePartition(
                partition_index=each.index,
                leader_id=node_id,
                leader_epoch=each.leader_epoch,
                replica_nodes=[node_id],
                isr_nodes=[node_id],
                eligible_leader_replicas=[],
                last_known_elr=[],
            )
            for each in partitions
        ],
        # There is no field to ask for it: it is always told.
        topic_authorized_operations=ALL_ON_TOPIC,
    )
