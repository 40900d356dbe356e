"""DescribeConfigs: every config of a topic or of the broker, with its value and where it comes from."""

from headwater.broker.config_view import (
    BROKER_RESOURCE,
    TOPIC_RESOURCE,
    ConfigEntry,
    broker_config_entries,
    topic_config_entries,
)
from headwater.broker.context import RequestContext
from headwater.broker.topics import check_topic_name
from headwater.config import join_address
from headwater.errors import InvalidRequest
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)


def describe_configs(
    request: DescribeConfigsRequest, context: RequestContext
) -> DescribeConfigsResponse:
    # Each resource once: its answer is many times the size of the question.
    asked = {(each.resource_type, each.resource_name): each for each in request.resources}
    return DescribeConfigsResponse(
        results=[_describe(each, request, context) for each in asked.values()]
    )


def _describe(
    asked: DescribeConfigsResource, request: DescribeConfigsRequest, context: RequestContext
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(
        resource_type=asked.resource_type, resource_name=asked.resource_name
    )
    entries = _entries(asked, context, result)
    wanted = asked.configuration_keys
    result.configs = [
        _entry(each, request) for each in entries if not wanted or each.name in wanted
    ]
    return result


def _entries(
    asked: DescribeConfigsResource, context: RequestContext, result: DescribeConfigsResult
) -> list[ConfigEntry]:
    """Return the configs; what is wrong with the question goes into `result`."""
    broker = context.broker
    if asked.resource_type == TOPIC_RESOURCE:
        try:
            check_topic_name(asked.resource_name)
        except InvalidRequest as error:
            result.error_code = ErrorCode.INVALID_TOPIC_EXCEPTION
            result.error_message = str(error)
            return []
        topic = broker.topics.get(asked.resource_name)
        if topic is None:
            result.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return []
        return topic_config_entries(topic.configs, broker.topics.defaults)
    if asked.resource_type == BROKER_RESOURCE:
        if asked.resource_name == "":
            return []
        if asked.resource_name != str(broker.node.node_id):
            result.error_code = ErrorCode.INVALID_REQUEST
            result.error_message = (
                f"Unexpected broker id, expected {broker.node.node_id} or empty string, "
                f"but received {asked.resource_name}"
            )
            return []
        address = join_address(broker.node.host, broker.node.port)
        return broker_config_entries(
            broker.settings, address, broker.node.node_id, str(broker.directory)
        )
    result.error_code = ErrorCode.INVALID_REQUEST
    result.error_message = f"Unsupported resource type: {asked.resource_type}"
    return []


def _entry(entry: ConfigEntry, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.is_read_only,
        config_source=entry.source,
        config_type=entry.kind,
        synonyms=[
            DescribeConfigsSynonym(name=name, value=value, source=source)
            for name, value, source in entry.synonyms
        ]
        if request.include_synonyms
        else [],
        documentation=entry.meaning if request.include_documentation else None,
    )
