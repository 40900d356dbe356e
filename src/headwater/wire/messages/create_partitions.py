"""CreatePartitions, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class CreatePartitionsAssignment(Struct):
    broker_ids: Sequence[int] = field(["int32"], default=())


class CreatePartitionsTopic(Struct):
    name: str = field("string", default="")
    count: int = field("int32", default=0)
    assignments: Sequence[CreatePartitionsAssignment] | None = field(
        [CreatePartitionsAssignment], default=(), nullable=0
    )


class CreatePartitionsRequest(Message, api_key=37, versions=(0, 3), flexible_since=2):
    topics: Sequence[CreatePartitionsTopic] = field([CreatePartitionsTopic], default=())
    timeout_ms: int = field("int32", default=0)
    validate_only: bool = field("bool", default=False)


class CreatePartitionsTopicResult(Struct):
    name: str = field("string", default="")
    error_code: int = field("int16", default=0)
    error_message: str | None = field("string", default=None, nullable=0)


class CreatePartitionsResponse(Message, api_key=37, versions=(0, 3), flexible_since=2):
    throttle_time_ms: int = field("int32", default=0)
    results: Sequence[CreatePartitionsTopicResult] = field(
        [CreatePartitionsTopicResult], default=()
    )
