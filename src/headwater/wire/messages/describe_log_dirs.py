"""DescribeLogDirs, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class DescribableLogDirTopic(Struct):
    topic: str = field("string", default="")
    partitions: Sequence[int] = field(["int32"], default=())


class DescribeLogDirsRequest(Message, api_key=35, versions=(1, 5), flexible_since=2):
    topics: Sequence[DescribableLogDirTopic] | None = field(
        [DescribableLogDirTopic], default=(), nullable=1
    )


class DescribeLogDirsPartition(Struct):
    partition_index: int = field("int32", default=0)
    partition_size: int = field("int64", default=0)
    offset_lag: int = field("int64", default=0)
    is_future_key: bool = field("bool", default=False)


class DescribeLogDirsTopic(Struct):
    name: str = field("string", default="")
    partitions: Sequence[DescribeLogDirsPartition] = field([DescribeLogDirsPartition], default=())


class DescribeLogDirsResult(Struct):
    error_code: int = field("int16", default=0)
    log_dir: str = field("string", default="")
    topics: Sequence[DescribeLogDirsTopic] = field([DescribeLogDirsTopic], default=())
    total_bytes: int = field("int64", default=-1, since=4)
    usable_bytes: int = field("int64", default=-1, since=4)
    is_cordoned: bool = field("bool", default=False, since=5)


class DescribeLogDirsResponse(Message, api_key=35, versions=(1, 5), flexible_since=2):
    throttle_time_ms: int = field("int32", default=0)
    error_code: int = field("int16", default=0, since=3)
    results: Sequence[DescribeLogDirsResult] = field([DescribeLogDirsResult], default=())
