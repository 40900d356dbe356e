"""OffsetCommit, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import ZERO_UUID, Message, Struct, field


class OffsetCommitRequestPartition(Struct):
    partition_index: int = field("int32", default=0)
    committed_offset: int = field("int64", default=0)
    committed_leader_epoch: int = field("int32", default=-1, since=6)
    committed_metadata: str | None = field("string", default=None, nullable=2)


class OffsetCommitRequestTopic(Struct):
    name: str = field("string", default="", until=9)
    topic_id: bytes = field("uuid", default=ZERO_UUID, since=10)
    partitions: Sequence[OffsetCommitRequestPartition] = field(
        [OffsetCommitRequestPartition], default=()
    )


class OffsetCommitRequest(Message, api_key=8, versions=(2, 10), flexible_since=8):
    group_id: str = field("string", default="")
    generation_id_or_member_epoch: int = field("int32", default=-1)
    member_id: str = field("string", default="")
    retention_time_ms: int = field("int64", default=-1, until=4)
    group_instance_id: str | None = field("string", default=None, since=7, nullable=7)
    topics: Sequence[OffsetCommitRequestTopic] = field([OffsetCommitRequestTopic], default=())


class OffsetCommitResponsePartition(Struct):
    partition_index: int = field("int32", default=0)
    error_code: int = field("int16", default=0)


class OffsetCommitResponseTopic(Struct):
    name: str = field("string", default="", until=9)
    topic_id: bytes = field("uuid", default=ZERO_UUID, since=10)
    partitions: Sequence[OffsetCommitResponsePartition] = field(
        [OffsetCommitResponsePartition], default=()
    )


class OffsetCommitResponse(Message, api_key=8, versions=(2, 10), flexible_since=8):
    throttle_time_ms: int = field("int32", default=0, since=3)
    topics: Sequence[OffsetCommitResponseTopic] = field([OffsetCommitResponseTopic], default=())
