"""InitProducerId, by tools/generate_messages.py."""

from headwater.wire.schema import Message, field


class InitProducerIdRequest(Message, api_key=22, versions=(0, 5), flexible_since=2):
    transactional_id: str | None = field("string", default=None, nullable=0)
    transaction_timeout_ms: int = field("int32", default=0)
    producer_id: int = field("int64", default=-1, since=3)
    producer_epoch: int = field("int16", default=-1, since=3)


class InitProducerIdResponse(Message, api_key=22, versions=(0, 5), flexible_since=2):
    throttle_time_ms: int = field("int32", default=0)
    error_code: int = field("int16", default=0)
    producer_id: int = field("int64", default=-1)
    producer_epoch: int = field("int16", default=0)
