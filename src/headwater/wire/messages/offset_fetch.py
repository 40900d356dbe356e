"""OffsetFetch, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import ZERO_UUID, Message, Struct, field


class OffsetFetchRequestTopic(Struct):
    name: str = field("string", default="", until=7)
    partition_indexes: Sequence[int] = field(["int32"], default=(), until=7)


class OffsetFetchRequestTopics(Struct):
    name: str = field("string", default="", since=8, until=9)
    topic_id: bytes = field("uuid", default=ZERO_UUID, since=10)
    partition_indexes: Sequence[int] = field(["int32"], default=(), since=8)


class OffsetFetchRequestGroup(Struct):
    group_id: str = field("string", default="", since=8)
    member_id: str | None = field("string", default=None, since=9, nullable=9)
    member_epoch: int = field("int32", default=-1, since=9)
    topics: Sequence[OffsetFetchRequestTopics] | None = field(
        [OffsetFetchRequestTopics], default=(), since=8, nullable=8
    )


class OffsetFetchRequest(Message, api_key=9, versions=(1, 10), flexible_since=6):
    group_id: str = field("string", default="", until=7)
    topics: Sequence[OffsetFetchRequestTopic] | None = field(
        [OffsetFetchRequestTopic], default=(), until=7, nullable=2
    )
    groups: Sequence[OffsetFetchRequestGroup] = field(
        [OffsetFetchRequestGroup], default=(), since=8
    )
    require_stable: bool = field("bool", default=False, since=7)


class OffsetFetchResponsePartition(Struct):
    partition_index: int = field("int32", default=0, until=7)
    committed_offset: int = field("int64", default=0, until=7)
    committed_leader_epoch: int = field("int32", default=-1, since=5, until=7)
    metadata: str | None = field("string", default=None, until=7, nullable=1)
    error_code: int = field("int16", default=0, until=7)


class OffsetFetchResponseTopic(Struct):
    name: str = field("string", default="", until=7)
    partitions: Sequence[OffsetFetchResponsePartition] = field(
        [OffsetFetchResponsePartition], default=(), until=7
    )


class OffsetFetchResponsePartitions(Struct):
    partition_index: int = field("int32", default=0, since=8)
    committed_offset: int = field("int64", default=0, since=8)
    committed_leader_epoch: int = field("int32", default=-1, since=8)
    metadata: str | None = field("string", default=None, since=8, nullable=8)
    error_code: int = field("int16", default=0, since=8)


class OffsetFetchResponseTopics(Struct):
    name: str = field("string", default="", since=8, until=9)
    topic_id: bytes = field("uuid", default=ZERO_UUID, since=10)
    partitions: Sequence[OffsetFetchResponsePartitions] = field(
        [OffsetFetchResponsePartitions], default=(), since=8
    )


class OffsetFetchResponseGroup(Struct):
    group_id: str = field("string", default="", since=8)
    topics: Sequence[OffsetFetchResponseTopics] = field(
        [OffsetFetchResponseTopics], default=(), since=8
    )
    error_code: int = field("int16", default=0, since=8)


class OffsetFetchResponse(Message, api_key=9, versions=(1, 10), flexible_since=6):
    throttle_time_ms: int = field("int32", default=0, since=3)
    topics: Sequence[OffsetFetchResponseTopic] = field(
        [OffsetFetchResponseTopic], default=(), until=7
    )
    error_code: int = field("int16", default=0, since=2, until=7)
    groups: Sequence[OffsetFetchResponseGroup] = field(
        [OffsetFetchResponseGroup], default=(), since=8
    )
