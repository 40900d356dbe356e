"""CreatePartitions: topics only grow."""

from collections import Counter

from headwater.broker.context import RequestContext
from headwater.broker.topics import MOST_PARTITIONS
from headwater.errors import HeadwaterError
from headwater.wire.error_codes import ErrorCode, code_of
from headwater.wire.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)


async def create_partitions(
    request: CreatePartitionsRequest, context: RequestContext
) -> CreatePartitionsResponse:
    counts = Counter(each.name for each in request.topics)
    results = []
    for each in {each.name: each for each in request.topics}.values():
        error, message = _check(each, context)
        if counts[each.name] > 1:
            error, message = ErrorCode.INVALID_REQUEST, "Duplicate topic name."
        topic = context.broker.topics.get(each.name)
        if error is ErrorCode.NONE and topic is not None and not request.validate_only:
            try:
                await context.broker.topics.add_partitions(topic, each.count)
            except HeadwaterError as failure:
                error, message = code_of(failure), str(failure)
        results.append(
            CreatePartitionsTopicResult(name=each.name, error_code=error, error_message=message)
        )
    return CreatePartitionsResponse(results=results)


def _check(asked: CreatePartitionsTopic, context: RequestContext) -> tuple[ErrorCode, str | None]:
    topic = context.broker.topics.get(asked.name)
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic."
    current = len(topic.partitions)
    if asked.count == current:
        return ErrorCode.INVALID_PARTITIONS, f"Topic already has {current} partition(s)."
    if asked.count < current:
        message = (
            f"The topic {asked.name} currently has {current} partition(s); "
            f"{asked.count} would not be an increase."
        )
        return ErrorCode.INVALID_PARTITIONS, message
    if asked.count > MOST_PARTITIONS:
        return ErrorCode.INVALID_PARTITIONS, f"A topic has at most {MOST_PARTITIONS} partitions."
    if asked.assignments is not None:
        only = [context.broker.node.node_id]
        is_wrong = any(list(each.broker_ids) != only for each in asked.assignments)
        if is_wrong or len(asked.assignments) != asked.count - current:
            message = (
                f"Each of the {asked.count - current} new partitions goes to broker {only[0]}."
            )
            return ErrorCode.INVALID_REPLICA_ASSIGNMENT, message
    return ErrorCode.NONE, None
