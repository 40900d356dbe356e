"""What a group has committed, without what a transaction may still take back; and a commit by hand."""

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from headwater.bulk.broker_errors import refuse
from headwater.bulk.cluster import Cluster
from headwater.bulk.coordinators import group_coordinator, group_coordinators
from headwater.bulk.ranges import TopicPartition
from headwater.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from headwater.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
)

OFFSET_FETCH_VERSION: Final = 7
OFFSET_FETCH_OF_MANY_VERSION: Final = 8
OFFSET_COMMIT_VERSION: Final = 7
_NONE: Final = -1


class Committed(NamedTuple):
    offset: int
    metadata: str = ""


def committed_offsets(cluster: Cluster, group: str) -> dict[TopicPartition, Committed]:
    """Return all that the group has committed; waits while a commit is part of an open transaction."""
    return cluster.patiently(partial(_committed_offsets, cluster, group))


def committed_offsets_of(
    cluster: Cluster, groups: Sequence[str]
) -> dict[str, dict[TopicPartition, Committed]]:
    """The same for many groups, in few requests; a group that has committed nothing is left out."""
    return cluster.patiently(partial(_committed_offsets_of, cluster, groups))


def commit_offset(
    cluster: Cluster, group: str, partition: TopicPartition, committed: Committed
) -> None:
    """Commit for a group without members; raises `NotFound` if the partition does not exist."""
    cluster.patiently(partial(_commit_offset, cluster, group, partition, committed))


def _committed_offsets(cluster: Cluster, group: str) -> dict[TopicPartition, Committed]:
    request = OffsetFetchRequest(group_id=group, topics=None, require_stable=True)
    answer = group_coordinator(cluster, group).call(
        request, OFFSET_FETCH_VERSION, OffsetFetchResponse
    )
    doing = f"read the offsets of group {group}"
    refuse(answer.error_code, doing=doing)
    found = {}
    for topic in answer.topics:
        for each in topic.partitions:
            refuse(each.error_code, doing=doing)
            if each.committed_offset != _NONE:
                partition = TopicPartition(topic.name, each.partition_index)
                found[partition] = Committed(each.committed_offset, each.metadata or "")
    return found


def _committed_offsets_of(
    cluster: Cluster, groups: Sequence[str]
) -> dict[str, dict[TopicPartition, Committed]]:
    found: dict[str, dict[TopicPartition, Committed]] = {}
    for coordinator, kept in group_coordinators(cluster, groups):
        asked = [OffsetFetchRequestGroup(group_id=each, topics=None) for each in kept]
        request = OffsetFetchRequest(groups=asked, require_stable=True)
        answer = coordinator.call(request, OFFSET_FETCH_OF_MANY_VERSION, OffsetFetchResponse)
        for group in answer.groups:
            doing = f"read the offsets of group {group.group_id}"
            refuse(group.error_code, doing=doing)
            for topic in group.topics:
                for each in topic.partitions:
                    refuse(each.error_code, doing=doing)
                    if each.committed_offset != _NONE:
                        committed = Committed(each.committed_offset, each.metadata or "")
                        place = TopicPartition(topic.name, each.partition_index)
                        found.setdefault(group.group_id, {})[place] = committed
    return found


def _commit_offset(
    cluster: Cluster, group: str, partition: TopicPartition, committed: Committed
) -> None:
    offset = OffsetCommitRequestPartition(
        partition_index=partition.partition,
        committed_offset=committed.offset,
        committed_metadata=committed.metadata,
    )
    request = OffsetCommitRequest(
        group_id=group,
        topics=[OffsetCommitRequestTopic(name=partition.topic, partitions=[offset])],
    )
    coordinator = group_coordinator(cluster, group)
    answer = coordinator.call(request, OFFSET_COMMIT_VERSION, OffsetCommitResponse)
    for topic in answer.topics:
        for each in topic.partitions:
            refuse(each.error_code, doing=f"commit offset {committed.offset} of {partition}")
