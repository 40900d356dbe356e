"""TxnOffsetCommit, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class TxnOffsetCommitRequestPartition(Struct):
    partition_index: int = field("int32", default=0)
    committed_offset: int = field("int64", default=0)
    committed_leader_epoch: int = field("int32", default=-1, since=2)
    committed_metadata: str | None = field("string", default=None, nullable=0)


class TxnOffsetCommitRequestTopic(Struct):
    name: str = field("string", default="")
    partitions: Sequence[TxnOffsetCommitRequestPartition] = field(
        [TxnOffsetCommitRequestPartition], default=()
    )


class TxnOffsetCommitRequest(Message, api_key=28, versions=(0, 5), flexible_since=3):
    transactional_id: str = field("string", default="")
    group_id: str = field("string", default="")
    producer_id: int = field("int64", default=0)
    producer_epoch: int = field("int16", default=0)
    generation_id: int = field("int32", default=-1, since=3)
    member_id: str = field("string", default="", since=3)
    group_instance_id: str | None = field("string", default=None, since=3, nullable=3)
    topics: Sequence[TxnOffsetCommitRequestTopic] = field([TxnOffsetCommitRequestTopic], default=())


class TxnOffsetCommitResponsePartition(Struct):
    partition_index: int = field("int32", default=0)
    error_code: int = field("int16", default=0)


class TxnOffsetCommitResponseTopic(Struct):
    name: str = field("string", default="")
    partitions: Sequence[TxnOffsetCommitResponsePartition] = field(
        [TxnOffsetCommitResponsePartition], default=()
    )


class TxnOffsetCommitResponse(Message, api_key=28, versions=(0, 5), flexible_since=3):
    throttle_time_ms: int = field("int32", default=0)
    topics: Sequence[TxnOffsetCommitResponseTopic] = field(
        [TxnOffsetCommitResponseTopic], default=()
    )
