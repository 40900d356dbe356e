"""OffsetFetch: how far groups have read; one group until version 7, many since, topics by id in 10.

`require_stable` needs nothing yet: no offset is pending in a transaction.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from headwater.broker.context import RequestContext
from headwater.broker.groups.records import CommittedOffset, TopicPartition
from headwater.broker.groups.topic_lookup import TopicLookup
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from headwater.wire.schema import ZERO_UUID

_NONE_COMMITTED = CommittedOffset(offset=-1)


class AskedTopic(NamedTuple):
    """A topic of a request; no name: its id is unknown."""

    name: str | None
    topic_id: bytes
    partitions: Sequence[int]


def offset_fetch(request: OffsetFetchRequest, context: RequestContext) -> OffsetFetchResponse:
    if context.version >= 8:
        return OffsetFetchResponse(groups=[_fetch_group(each, context) for each in request.groups])
    offsets = context.broker.groups.offsets.of(request.group_id)
    asked: Iterable[AskedTopic]
    if request.topics is None:
        asked = _all_of(offsets)
    else:
        asked = (
            AskedTopic(each.name, ZERO_UUID, each.partition_indexes) for each in request.topics
        )
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name or "",
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=index,
                        committed_offset=committed.offset,
                        committed_leader_epoch=committed.leader_epoch,
                        metadata=committed.metadata,
                    )
                    for index, committed in _look_up(topic, offsets)
                ],
            )
            for topic in asked
        ]
    )


def _fetch_group(
    group: OffsetFetchRequestGroup, context: RequestContext
) -> OffsetFetchResponseGroup:
    offsets = context.broker.groups.offsets.of(group.group_id)
    topics = context.broker.topics
    if group.topics is None:
        asked = _all_of(offsets)
        if context.version >= 10:
            asked = _with_ids(asked, topics)
    elif context.version >= 10:
        asked = [
            AskedTopic(topics.topic_name_of(each.topic_id), each.topic_id, each.partition_indexes)
            for each in group.topics
        ]
    else:
        asked = [AskedTopic(each.name, ZERO_UUID, each.partition_indexes) for each in group.topics]
    return OffsetFetchResponseGroup(
        group_id=group.group_id,
        topics=[
            OffsetFetchResponseTopics(
                name=topic.name or "",
                topic_id=topic.topic_id,
                partitions=[
                    OffsetFetchResponsePartitions(
                        partition_index=index,
                        committed_offset=committed.offset,
                        committed_leader_epoch=committed.leader_epoch,
                        metadata=committed.metadata,
                        error_code=(
                            ErrorCode.UNKNOWN_TOPIC_ID if topic.name is None else ErrorCode.NONE
                        ),
                    )
                    for index, committed in _look_up(topic, offsets)
                ],
            )
            for topic in asked
        ],
    )


def _all_of(offsets: Mapping[TopicPartition, CommittedOffset]) -> list[AskedTopic]:
    partitions: dict[str, list[int]] = {}
    for topic, partition in sorted(offsets):
        partitions.setdefault(topic, []).append(partition)
    return [AskedTopic(name, ZERO_UUID, indexes) for name, indexes in partitions.items()]


def _with_ids(asked: Iterable[AskedTopic], topics: TopicLookup) -> list[AskedTopic]:
    """Name topics by id; one that is gone has none, so version 10 cannot speak of it."""
    found = [each._replace(topic_id=topics.topic_id_of(each.name or "")) for each in asked]
    return [each for each in found if each.topic_id != ZERO_UUID]


def _look_up(
    topic: AskedTopic, offsets: Mapping[TopicPartition, CommittedOffset]
) -> list[tuple[int, CommittedOffset]]:
    if topic.name is None:
        return [(index, _NONE_COMMITTED) for index in topic.partitions]
    return [
        (index, offsets.get(TopicPartition(topic.name, index), _NONE_COMMITTED))
        for index in topic.partitions
    ]
