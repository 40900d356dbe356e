"""CreatePartitions: topics only grow."""

from collections import Counter
from dataclasses import replace

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

Outcome = tuple[ErrorCode, str | None]


async def create_partitions(
    request: CreatePartitionsRequest, context: RequestContext
) -> CreatePartitionsResponse:
    counts = Counter(each.name for each in request.topics)
    results = []
    for each in {each.name: each for each in request.topics}.values():
        outcome: Outcome = ErrorCode.INVALID_REQUEST, "Duplicate topic name."
        if counts[each.name] == 1:
            outcome = await _grow(each, context, only_validate=request.validate_only)
        error, message = outcome
        results.append(
            CreatePartitionsTopicResult(name=each.name, error_code=error, error_message=message)
        )
    return CreatePartitionsResponse(results=results)


async def _grow(
    asked: CreatePartitionsTopic, context: RequestContext, *, only_validate: bool
) -> Outcome:
    topics = context.broker.topics
    while (topic := topics.get(asked.name)) is not None:
        before = topic.record
        error, message = _check(asked, before.partitions, context)
        if error is not ErrorCode.NONE or only_validate:
            return error, message
        try:
            if await topics.change(topic, before, replace(before, partitions=asked.count)):
                return ErrorCode.NONE, None
        except HeadwaterError as failure:
            return code_of(failure), str(failure)
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic."


def _check(asked: CreatePartitionsTopic, current: int, context: RequestContext) -> Outcome:
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
