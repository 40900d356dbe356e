"""ListPartitionReassignments, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class ListPartitionReassignmentsTopics(Struct):
    name: str = field("string", default="")
    partition_indexes: Sequence[int] = field(["int32"], default=())


class ListPartitionReassignmentsRequest(Message, api_key=46, versions=(0, 0), flexible_since=0):
    timeout_ms: int = field("int32", default=60000)
    topics: Sequence[ListPartitionReassignmentsTopics] | None = field(
        [ListPartitionReassignmentsTopics], default=(), nullable=0
    )


class OngoingPartitionReassignment(Struct):
    partition_index: int = field("int32", default=0)
    replicas: Sequence[int] = field(["int32"], default=())
    adding_replicas: Sequence[int] = field(["int32"], default=())
    removing_replicas: Sequence[int] = field(["int32"], default=())


class OngoingTopicReassignment(Struct):
    name: str = field("string", default="")
    partitions: Sequence[OngoingPartitionReassignment] = field(
        [OngoingPartitionReassignment], default=()
    )


class ListPartitionReassignmentsResponse(Message, api_key=46, versions=(0, 0), flexible_since=0):
    throttle_time_ms: int = field("int32", default=0)
    error_code: int = field("int16", default=0)
    error_message: str | None = field("string", default=None, nullable=0)
    topics: Sequence[OngoingTopicReassignment] = field([OngoingTopicReassignment], default=())
