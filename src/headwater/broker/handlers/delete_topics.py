"""DeleteTopics: gone for clients at once and for good; the files follow in the background."""

from headwater.broker.context import RequestContext
from headwater.broker.topics import Topic
from headwater.errors import HeadwaterError
from headwater.wire.error_codes import ErrorCode, code_of
from headwater.wire.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from headwater.wire.schema import ZERO_UUID


async def delete_topics(
    request: DeleteTopicsRequest, context: RequestContext
) -> DeleteTopicsResponse:
    asked = list(request.topics) or [DeleteTopicState(name=each) for each in request.topic_names]
    return DeleteTopicsResponse(responses=[await _delete(each, context) for each in asked])


async def _delete(asked: DeleteTopicState, context: RequestContext) -> DeletableTopicResult:
    result = DeletableTopicResult(name=asked.name, topic_id=asked.topic_id)
    topic = _find(asked, context)
    if isinstance(topic, ErrorCode):
        result.error_code = topic
        result.error_message = "This server does not host this topic."
        return result
    result.name, result.topic_id = topic.name, topic.id
    if topic.is_internal:
        result.error_code = ErrorCode.INVALID_TOPIC_EXCEPTION
        result.error_message = "The broker keeps its own state in this topic."
        return result
    try:
        await context.broker.delete_topic(topic)
    except HeadwaterError as error:
        result.error_code, result.error_message = code_of(error), str(error)
    return result


def _find(asked: DeleteTopicState, context: RequestContext) -> Topic | ErrorCode:
    topics = context.broker.topics
    if asked.name is not None and asked.topic_id != ZERO_UUID:
        return ErrorCode.INVALID_REQUEST
    if asked.name is None:
        return topics.by_id(asked.topic_id) or ErrorCode.UNKNOWN_TOPIC_ID
    return topics.get(asked.name) or ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
