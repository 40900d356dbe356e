"""DeleteTopics, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import ZERO_UUID, Message, Struct, field


class DeleteTopicState(Struct):
    name: str | None = field("string", default=None, since=6, nullable=6)
    topic_id: bytes = field("uuid", default=ZERO_UUID, since=6)


class DeleteTopicsRequest(Message, api_key=20, versions=(1, 6), flexible_since=4):
    topic_names: Sequence[str] = field(["string"], default=(), until=5)
    topics: Sequence[DeleteTopicState] = field([DeleteTopicState], default=(), since=6)
    timeout_ms: int = field("int32", default=0)


class DeletableTopicResult(Struct):
    name: str | None = field("string", default="", nullable=6)
    topic_id: bytes = field("uuid", default=ZERO_UUID, since=6)
    error_code: int = field("int16", default=0)
    error_message: str | None = field("string", default=None, since=5, nullable=5)


class DeleteTopicsResponse(Message, api_key=20, versions=(1, 6), flexible_since=4):
    throttle_time_ms: int = field("int32", default=0)
    responses: Sequence[DeletableTopicResult] = field([DeletableTopicResult], default=())
