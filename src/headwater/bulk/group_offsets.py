"""What a group has committed, without what a transaction may still take back; and a commit by hand."""

from functools import partial
from typing import Final, NamedTuple

from headwater.bulk.broker_errors import refuse
from headwater.bulk.cluster import Cluster
from headwater.bulk.coordinators import group_coordinator
from headwater.bulk.ranges import TopicPartition
from headwater.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from headwater.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse

OFFSET_FETCH_VERSION: Final = 7
OFFSET_COMMIT_VERSION: Final = 7
_NONE: Final = -1


class Committed(NamedTuple):
    offset: int
    metadata: str = ""


def committed_offsets(cluster: Cluster, group: str) -> dict[TopicPartition, Committed]:
    """Return all that the group has committed; waits while a commit is part of an open transaction."""
    return cluster.patiently(partial(_committed_offsets, cluster, group))


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
