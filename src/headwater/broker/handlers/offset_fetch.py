"""OffsetFetch: how far groups have read; one group until version 7, many since, topics by id in 10.

With `require_stable`, an offset that an open transaction may change is not told: the client asks again.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from headwater.broker.context import RequestContext
from headwater.broker.groups.records import CommittedOffset, TopicPartition
from headwater.broker.groups.topic_lookup import TopicLookup
from headwater.broker.transactions.markers import OFFSETS
from headwater.errors import InvalidRequest
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

MOST_REPEATED: Final = 100_000
"""Partitions of groups that one request names again: a short request must not ask for a huge answer."""
MOST_IN_A_TURN: Final = 100
"""Groups, and partitions of theirs, before others have a turn: on a busy broker each takes a while."""
_NONE_COMMITTED = CommittedOffset(offset=-1)


class AskedTopic(NamedTuple):
    """A topic of a request; no name: its id is unknown."""

    name: str | None
    topic_id: bytes
    partitions: Sequence[int]


async def offset_fetch(request: OffsetFetchRequest, context: RequestContext) -> OffsetFetchResponse:
    await context.broker.transactions.settled(OFFSETS)
    if context.version >= 8:
        return OffsetFetchResponse(groups=await _fetch_groups(request, context))
    offsets = context.broker.groups.offsets.of(request.group_id)
    unstable = _unstable(request.group_id, context, is_stable=request.require_stable)
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
                        error_code=_error(topic, index, unstable),
                    )
                    for index, committed in _look_up(topic, offsets, unstable)
                ],
            )
            for topic in asked
        ]
    )


async def _fetch_groups(
    request: OffsetFetchRequest, context: RequestContext
) -> list[OffsetFetchResponseGroup]:
    """Answer each group as often as it is asked for, as Kafka does; others have a turn in between."""
    answers = []
    in_full: dict[str, OffsetFetchResponseGroup] = {}
    repeated = told = 0
    for asked in request.groups:
        answer = in_full.get(asked.group_id) if asked.topics is None else None
        if answer is None:
            answer = _fetch_group(asked, context, is_stable=request.require_stable)
            told += 1 + _size(answer)
            if told >= MOST_IN_A_TURN:
                await asyncio.sleep(0)
                told = 0
        else:
            repeated += _size(answer)
            if repeated > MOST_REPEATED:
                raise InvalidRequest("the same groups are asked for again and again")
        if asked.topics is None:
            in_full[asked.group_id] = answer
        answers.append(answer)
    return answers


def _size(answer: OffsetFetchResponseGroup) -> int:
    return sum(len(each.partitions) for each in answer.topics)


def _fetch_group(
    group: OffsetFetchRequestGroup, context: RequestContext, *, is_stable: bool
) -> OffsetFetchResponseGroup:
    offsets = context.broker.groups.offsets.of(group.group_id)
    unstable = _unstable(group.group_id, context, is_stable=is_stable)
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
                        error_code=_error(topic, index, unstable),
                    )
                    for index, committed in _look_up(topic, offsets, unstable)
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


def _unstable(group_id: str, context: RequestContext, *, is_stable: bool) -> set[TopicPartition]:
    return context.broker.groups.offsets.pending(group_id) if is_stable else set()


def _error(topic: AskedTopic, index: int, unstable: set[TopicPartition]) -> ErrorCode:
    if topic.name is None:
        return ErrorCode.UNKNOWN_TOPIC_ID
    is_unstable = TopicPartition(topic.name, index) in unstable
    return ErrorCode.UNSTABLE_OFFSET_COMMIT if is_unstable else ErrorCode.NONE


def _look_up(
    topic: AskedTopic,
    offsets: Mapping[TopicPartition, CommittedOffset],
    unstable: set[TopicPartition],
) -> list[tuple[int, CommittedOffset]]:
    found = []
    for index in topic.partitions:
        is_told = not _error(topic, index, unstable)
        key = TopicPartition(topic.name or "", index)
        found.append((index, offsets.get(key, _NONE_COMMITTED) if is_told else _NONE_COMMITTED))
    return found
