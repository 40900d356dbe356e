"""DeleteRecords, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class DeleteRecordsPartition(Struct):
    partition_index: int = field("int32", default=0)
    offset: int = field("int64", default=0)


class DeleteRecordsTopic(Struct):
    name: str = field("string", default="")
    partitions: Sequence[DeleteRecordsPartition] = field([DeleteRecordsPartition], default=())


class DeleteRecordsRequest(Message, api_key=21, versions=(0, 2), flexible_since=2):
    topics: Sequence[DeleteRecordsTopic] = field([DeleteRecordsTopic], default=())
    timeout_ms: int = field("int32", default=0)


class DeleteRecordsPartitionResult(Struct):
    partition_index: int = field("int32", default=0)
    low_watermark: int = field("int64", default=0)
    error_code: int = field("int16", default=0)


class DeleteRecordsTopicResult(Struct):
    name: str = field("string", default="")
    partitions: Sequence[DeleteRecordsPartitionResult] = field(
        [DeleteRecordsPartitionResult], default=()
    )


class DeleteRecordsResponse(Message, api_key=21, versions=(0, 2), flexible_since=2):
    throttle_time_ms: int = field("int32", default=0)
    topics: Sequence[DeleteRecordsTopicResult] = field([DeleteRecordsTopicResult], default=())
