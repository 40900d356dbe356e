"""CreateTopics, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import ZERO_UUID, Message, Struct, field


class CreatableReplicaAssignment(Struct):
    partition_index: int = field("int32", default=0)
    broker_ids: Sequence[int] = field(["int32"], default=())


class CreatableTopicConfig(Struct):
    name: str = field("string", default="")
    value: str | None = field("string", default=None, nullable=2)


class CreatableTopic(Struct):
    name: str = field("string", default="")
    num_partitions: int = field("int32", default=0)
    replication_factor: int = field("int16", default=0)
    assignments: Sequence[CreatableReplicaAssignment] = field(
        [CreatableReplicaAssignment], default=()
    )
    configs: Sequence[CreatableTopicConfig] = field([CreatableTopicConfig], default=())


class CreateTopicsRequest(Message, api_key=19, versions=(2, 7), flexible_since=5):
    topics: Sequence[CreatableTopic] = field([CreatableTopic], default=())
    timeout_ms: int = field("int32", default=60000)
    validate_only: bool = field("bool", default=False)


class CreatableTopicConfigs(Struct):
    name: str = field("string", default="", since=5)
    value: str | None = field("string", default=None, since=5, nullable=5)
    read_only: bool = field("bool", default=False, since=5)
    config_source: int = field("int8", default=-1, since=5)
    is_sensitive: bool = field("bool", default=False, since=5)


class CreatableTopicResult(Struct):
    name: str = field("string", default="")
    topic_id: bytes = field("uuid", default=ZERO_UUID, since=7)
    error_code: int = field("int16", default=0)
    error_message: str | None = field("string", default=None, nullable=2)
    topic_config_error_code: int = field("int16", default=0, since=5, tag=0)
    num_partitions: int = field("int32", default=-1, since=5)
    replication_factor: int = field("int16", default=-1, since=5)
    configs: Sequence[CreatableTopicConfigs] | None = field(
        [CreatableTopicConfigs], default=(), since=5, nullable=5
    )


class CreateTopicsResponse(Message, api_key=19, versions=(2, 7), flexible_since=5):
    throttle_time_ms: int = field("int32", default=0)
    topics: Sequence[CreatableTopicResult] = field([CreatableTopicResult], default=())
