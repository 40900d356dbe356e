"""Metadata: brokers, topics and partitions; unknown topics are created where that is allowed."""

from collections.abc import Sequence

from headwater.broker.context import RequestContext
from headwater.broker.operations import ALL_ON_CLUSTER, ALL_ON_TOPIC, NOT_REQUESTED, allowed
from headwater.broker.topics import Topic, check_topic_name
from headwater.errors import Conflict, InvalidRequest, StorageFailed
from headwater.wire.codec import encode_part
from headwater.wire.error_codes import ErrorCode, code_of
from headwater.wire.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from headwater.wire.schema import ZERO_UUID

FIRST_VERSION_WITHOUT_NAMES = 12
"""From here on a topic may be asked for by its id alone; versions 10 and 11 only carry the field."""


async def metadata(request: MetadataRequest, context: RequestContext) -> MetadataResponse:
    broker = context.broker
    may_create = request.allow_auto_topic_creation or context.version < 4
    may_create = may_create and broker.settings.auto_create_topics
    operations = allowed(ALL_ON_TOPIC, is_requested=request.include_topic_authorized_operations)
    topics = [
        await _describe(each, operations, context, may_create=may_create)
        for each in _asked(request, context)
    ]
    node = broker.node
    return MetadataResponse(
        brokers=[MetadataResponseBroker(node_id=node.node_id, host=node.host, port=node.port)],
        cluster_id=broker.cluster_id,
        controller_id=node.node_id,
        topics=topics,
        cluster_authorized_operations=allowed(
            ALL_ON_CLUSTER, is_requested=request.include_cluster_authorized_operations
        ),
    )


def _found(topic: Topic, operations: int, context: RequestContext) -> MetadataResponseTopic:
    """Describe a topic; encoded once per version, because every client asks again and again."""
    key = (context.version, operations)
    encoded = topic.encoded.get(key)
    if encoded is None:
        described = _describe_found(topic, operations, context)
        encoded = topic.encoded[key] = encode_part(described, MetadataResponse, context.version)
    return encoded  # type: ignore[return-value]


def _describe_found(
    topic: Topic, operations: int, context: RequestContext
) -> MetadataResponseTopic:
    node_id = context.broker.node.node_id
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.is_internal,
        partitions=[
            MetadataResponsePartition(
                error_code=ErrorCode.NONE,
                partition_index=each.index,
                leader_id=node_id,
                leader_epoch=each.leader_epoch,
                replica_nodes=(node_id,),
                isr_nodes=(node_id,),
            )
            for each in topic.partitions
        ],
        topic_authorized_operations=operations,
    )


def _asked(
    request: MetadataRequest, context: RequestContext
) -> Sequence[MetadataRequestTopic | Topic]:
    """In version 0 an empty list asks for all topics; later null does, and an empty list for none."""
    if request.topics is None or (context.version == 0 and not request.topics):
        return list(context.broker.topics)
    return list({(each.name, each.topic_id): each for each in request.topics}.values())


async def _describe(
    asked: MetadataRequestTopic | Topic,
    operations: int,
    context: RequestContext,
    *,
    may_create: bool,
) -> MetadataResponseTopic:
    if isinstance(asked, Topic):
        return _found(asked, operations, context)
    topics = context.broker.topics
    if asked.name is None or asked.topic_id != ZERO_UUID:
        if context.version < FIRST_VERSION_WITHOUT_NAMES:
            return _missing(asked.name or "", asked.topic_id, ErrorCode.INVALID_REQUEST)
        found = topics.by_id(asked.topic_id)
        if found is None:
            return _missing(None, asked.topic_id, ErrorCode.UNKNOWN_TOPIC_ID)
        return _found(found, operations, context)
    found = topics.get(asked.name)
    if found is not None:
        return _found(found, operations, context)
    try:
        check_topic_name(asked.name)
    except InvalidRequest:
        return _missing(asked.name, ZERO_UUID, ErrorCode.INVALID_TOPIC_EXCEPTION)
    if not may_create or asked.name in context.broker.reserved_topics:
        return _missing(asked.name, ZERO_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return await _created(asked.name, operations, context)


async def _created(name: str, operations: int, context: RequestContext) -> MetadataResponseTopic:
    """Create a topic on first use; if that cannot be, it is told of this topic alone."""
    topics = context.broker.topics
    try:
        topic = await topics.create(name, context.broker.settings.num_partitions, {})
    except Conflict:
        topic = topics.get(name)  # type: ignore[assignment]
    except InvalidRequest:
        return _missing(name, ZERO_UUID, ErrorCode.INVALID_TOPIC_EXCEPTION)
    except StorageFailed as error:
        return _missing(name, ZERO_UUID, code_of(error))
    return _found(topic, operations, context)


def _missing(name: str | None, topic_id: bytes, error: ErrorCode) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=error,
        name=name,
        topic_id=topic_id,
        topic_authorized_operations=NOT_REQUESTED,
    )
