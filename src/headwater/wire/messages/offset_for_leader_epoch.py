"""OffsetForLeaderEpoch, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class OffsetForLeaderPartition(Struct):
    partition: int = field("int32", default=0)
    current_leader_epoch: int = field("int32", default=-1)
    leader_epoch: int = field("int32", default=0)


class OffsetForLeaderTopic(Struct):
    topic: str = field("string", default="")
    partitions: Sequence[OffsetForLeaderPartition] = field([OffsetForLeaderPartition], default=())


class OffsetForLeaderEpochRequest(Message, api_key=23, versions=(2, 4), flexible_since=4):
    replica_id: int = field("int32", default=-2, since=3)
    topics: Sequence[OffsetForLeaderTopic] = field([OffsetForLeaderTopic], default=())


class EpochEndOffset(Struct):
    error_code: int = field("int16", default=0)
    partition: int = field("int32", default=0)
    leader_epoch: int = field("int32", default=-1)
    end_offset: int = field("int64", default=-1)


class OffsetForLeaderTopicResult(Struct):
    topic: str = field("string", default="")
    partitions: Sequence[EpochEndOffset] = field([EpochEndOffset], default=())


class OffsetForLeaderEpochResponse(Message, api_key=23, versions=(2, 4), flexible_since=4):
    throttle_time_ms: int = field("int32", default=0)
    topics: Sequence[OffsetForLeaderTopicResult] = field([OffsetForLeaderTopicResult], default=())
