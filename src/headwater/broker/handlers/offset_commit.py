"""OffsetCommit: write down how far a group has read; topics by name, since version 10 by id."""

from headwater.broker.context import RequestContext
from headwater.broker.groups.committing import Committer
from headwater.broker.groups.records import CommittedOffset, TopicPartition
from headwater.log.settings import LONG_MAX
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)


async def offset_commit(
    request: OffsetCommitRequest, context: RequestContext
) -> OffsetCommitResponse:
    names = [_name_of(topic, context) for topic in request.topics]
    offsets = _offsets_to_commit(request, names, context)
    codes: dict[TopicPartition, ErrorCode] = {}
    if offsets:
        committer = Committer(
            group_id=request.group_id,
            generation=request.generation_id_or_member_epoch,
            member_id=request.member_id,
            instance_id=request.group_instance_id,
        )
        codes = await context.broker.groups.offsets.commit(committer, offsets)
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(
                        partition_index=each.partition_index,
                        error_code=_code(name, each.partition_index, codes, context.version),
                    )
                    for each in topic.partitions
                ],
            )
            for topic, name in zip(request.topics, names, strict=True)
        ]
    )


def _name_of(topic: OffsetCommitRequestTopic, context: RequestContext) -> str | None:
    if context.version < 10:
        return topic.name
    name: str | None = context.broker.topics.topic_name_of(topic.topic_id)
    return name


def _offsets_to_commit(
    request: OffsetCommitRequest, names: list[str | None], context: RequestContext
) -> dict[TopicPartition, CommittedOffset]:
    has_partition = context.broker.topics.topic_has_partition
    now_ms = context.broker.groups.clock.now_ms()
    expires_at_ms = (
        None if request.retention_time_ms < 0 else min(now_ms + request.retention_time_ms, LONG_MAX)
    )
    return {
        TopicPartition(name, each.partition_index): _committed(each, now_ms, expires_at_ms)
        for topic, name in zip(request.topics, names, strict=True)
        if name is not None
        for each in topic.partitions
        if has_partition(name, each.partition_index)
    }


def _committed(
    partition: OffsetCommitRequestPartition, now_ms: int, expires_at_ms: int | None
) -> CommittedOffset:
    return CommittedOffset(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        committed_at_ms=now_ms,
        expires_at_ms=expires_at_ms,
    )


def _code(
    name: str | None, partition: int, codes: dict[TopicPartition, ErrorCode], version: int
) -> ErrorCode:
    if name is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    code = codes.get(TopicPartition(name, partition), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if code is ErrorCode.GROUP_ID_NOT_FOUND and version < 9:
        return ErrorCode.ILLEGAL_GENERATION  # older clients do not know the other code here
    return code
