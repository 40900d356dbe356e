"""OffsetDelete, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class OffsetDeleteRequestPartition(Struct):
    partition_index: int = field("int32", default=0)


class OffsetDeleteRequestTopic(Struct):
    name: str = field("string", default="")
    partitions: Sequence[OffsetDeleteRequestPartition] = field(
        [OffsetDeleteRequestPartition], default=()
    )


class OffsetDeleteRequest(Message, api_key=47, versions=(0, 0)):
    group_id: str = field("string", default="")
    topics: Sequence[OffsetDeleteRequestTopic] = field([OffsetDeleteRequestTopic], default=())


class OffsetDeleteResponsePartition(Struct):
    partition_index: int = field("int32", default=0)
    error_code: int = field("int16", default=0)


class OffsetDeleteResponseTopic(Struct):
    name: str = field("string", default="")
    partitions: Sequence[OffsetDeleteResponsePartition] = field(
        [OffsetDeleteResponsePartition], default=()
    )


class OffsetDeleteResponse(Message, api_key=47, versions=(0, 0)):
    error_code: int = field("int16", default=0)
    throttle_time_ms: int = field("int32", default=0)
    topics: Sequence[OffsetDeleteResponseTopic] = field([OffsetDeleteResponseTopic], default=())
