"""Who may commit offsets, and which of them expire."""

from collections.abc import Mapping
from dataclasses import dataclass

from headwater.broker.groups.group import Group, GroupState
from headwater.broker.groups.records import CommittedOffset, TopicPartition
from headwater.broker.groups.subscription import CONSUMER_PROTOCOL_TYPE
from headwater.wire.error_codes import ErrorCode


@dataclass(frozen=True, slots=True)
class Committer:
    """Who commits; generation -1 and no member id for an administrator or a simple consumer."""

    group_id: str
    generation: int = -1
    member_id: str = ""
    instance_id: str | None = None


def check_commit(
    group: Group, committer: Committer, *, is_transactional: bool = False
) -> ErrorCode:
    """Members commit in their generation; anyone else only while the group is empty.

    A transaction's offsets may also come from an old client that does not say who it is, and while the
    group waits for its assignment.
    """
    if group.state is GroupState.DEAD:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if committer.generation < 0 and group.state is GroupState.EMPTY:
        return ErrorCode.NONE
    is_nameless = (
        committer.generation < 0 and not committer.member_id and committer.instance_id is None
    )
    if is_transactional and is_nameless:
        return ErrorCode.NONE
    unknown = group.roster.check(committer.member_id, committer.instance_id)
    if unknown:
        return unknown
    if committer.generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    if group.state is GroupState.COMPLETING_REBALANCE and not is_transactional:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def expired_offsets(
    group: Group,
    offsets: Mapping[TopicPartition, CommittedOffset],
    retention_ms: int,
    now_ms: int,
) -> list[TopicPartition]:
    """Offsets past their retention, which begins when the group became empty.

    In a group that never had members, and for topics that a stable group no longer consumes, it
    begins with the commit. An offset whose client chose its own expiry goes by that.
    """
    if group.protocol_type is not None and group.state is not GroupState.EMPTY:
        is_readable = (
            group.protocol_type == CONSUMER_PROTOCOL_TYPE and group.subscribed_topics is not None
        )
        if not is_readable or group.state is not GroupState.STABLE:
            return []
    since_ms = None
    if group.protocol_type is not None and group.state is GroupState.EMPTY:
        since_ms = group.state_since_ms

    def is_expired(committed: CommittedOffset) -> bool:
        if committed.expires_at_ms is not None:
            return now_ms >= committed.expires_at_ms
        begin_ms = committed.committed_at_ms if since_ms is None else since_ms
        return now_ms - begin_ms >= retention_ms

    return [
        partition
        for partition, committed in offsets.items()
        if is_expired(committed) and not group.is_subscribed_to(partition.topic)
    ]
