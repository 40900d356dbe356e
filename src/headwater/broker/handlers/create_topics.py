"""CreateTopics: each topic stands or falls alone; a created topic is durable before the answer."""

from collections import Counter

from headwater.broker.config_view import topic_config_entries
from headwater.broker.context import RequestContext
from headwater.broker.topic_configs import check_config, check_together
from headwater.broker.topics import MOST_PARTITIONS, check_topic_name
from headwater.errors import Conflict, HeadwaterError, InvalidRequest
from headwater.wire.error_codes import ErrorCode, code_of
from headwater.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfigs,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

UNSET = -1


class Refusal(Exception):
    """Why one topic of the request is not created."""

    def __init__(self, error: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error = error
        self.message = message


async def create_topics(
    request: CreateTopicsRequest, context: RequestContext
) -> CreateTopicsResponse:
    counts = Counter(each.name for each in request.topics)
    results = []
    for name, asked in {each.name: each for each in request.topics}.items():
        if counts[name] > 1:
            message = "Duplicate topic name."
            results.append(_refused(name, Refusal(ErrorCode.INVALID_REQUEST, message)))
            continue
        try:
            result = await _create(asked, context, only_validate=request.validate_only)
            results.append(result)
        except Refusal as refusal:
            results.append(_refused(name, refusal))
        except HeadwaterError as error:
            results.append(_refused(name, Refusal(code_of(error), str(error))))
    return CreateTopicsResponse(topics=results)


async def _create(
    asked: CreatableTopic, context: RequestContext, *, only_validate: bool
) -> CreatableTopicResult:
    broker = context.broker
    _check_name(asked.name, context)
    partitions = _partition_count(asked, context)
    configs = _configs(asked, context)
    result = CreatableTopicResult(
        name=asked.name,
        num_partitions=partitions,
        replication_factor=1,
        configs=[
            CreatableTopicConfigs(
                name=each.name, value=each.value, config_source=each.source, read_only=False
            )
            for each in topic_config_entries(configs, broker.topics.defaults)
        ],
    )
    if only_validate:
        return result
    try:
        topic = await broker.topics.create(asked.name, partitions, configs)
    except Conflict:
        raise _exists(asked.name) from None
    except InvalidRequest as error:
        raise _wrong_name(error) from error
    result.topic_id = topic.id
    return result


def _check_name(name: str, context: RequestContext) -> None:
    broker = context.broker
    try:
        check_topic_name(name)
        if broker.topics.get(name) is not None or name in broker.reserved_topics:
            raise _exists(name)
        broker.topics.refuse_collision(name)
    except InvalidRequest as error:
        raise _wrong_name(error) from error


def _wrong_name(error: InvalidRequest) -> Refusal:
    return Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, str(error))


def _exists(name: str) -> Refusal:
    return Refusal(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")


def _partition_count(asked: CreatableTopic, context: RequestContext) -> int:
    if asked.assignments:
        return _assigned_count(asked, context)
    if asked.replication_factor not in (UNSET, 1):
        message = (
            f"Unable to replicate the partition {asked.replication_factor} time(s): only 1 broker."
        )
        if asked.replication_factor < 1:
            message = "Replication factor must be larger than 0, or -1 to use the default value."
        raise Refusal(ErrorCode.INVALID_REPLICATION_FACTOR, message)
    if asked.num_partitions == UNSET:
        return context.broker.settings.num_partitions
    if not 0 < asked.num_partitions <= MOST_PARTITIONS:
        message = (
            f"Number of partitions must be between 1 and {MOST_PARTITIONS}, or -1 for the default."
        )
        raise Refusal(ErrorCode.INVALID_PARTITIONS, message)
    return asked.num_partitions


def _assigned_count(asked: CreatableTopic, context: RequestContext) -> int:
    if asked.num_partitions != UNSET or asked.replication_factor != UNSET:
        message = "A manual partition assignment was specified, so both counts must be -1."
        raise Refusal(ErrorCode.INVALID_REQUEST, message)
    indexes = sorted(each.partition_index for each in asked.assignments)
    if indexes != list(range(len(indexes))):
        message = "partitions should be a consecutive 0-based integer sequence"
        raise Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
    only = [context.broker.node.node_id]
    if any(list(each.broker_ids) != only for each in asked.assignments):
        message = f"The manual partition assignment must name broker {only[0]} once."
        raise Refusal(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
    return len(indexes)


def _configs(asked: CreatableTopic, context: RequestContext) -> dict[str, str]:
    configs: dict[str, str] = {}
    try:
        for each in asked.configs:
            check_config(each.name, each.value)
            configs[each.name] = each.value or ""
        check_together(configs, context.broker.topics.defaults)
    except InvalidRequest as error:
        raise Refusal(ErrorCode.INVALID_CONFIG, error.what) from error
    return configs


def _refused(name: str, refusal: Refusal) -> CreatableTopicResult:
    return CreatableTopicResult(
        name=name,
        error_code=refusal.error,
        error_message=refusal.message,
        topic_config_error_code=ErrorCode.NONE,
        configs=[],
    )
