"""EndTxn, by tools/generate_messages.py."""

from headwater.wire.schema import Message, field


class EndTxnRequest(Message, api_key=26, versions=(0, 5), flexible_since=3):
    transactional_id: str = field("string", default="")
    producer_id: int = field("int64", default=0)
    producer_epoch: int = field("int16", default=0)
    committed: bool = field("bool", default=False)


class EndTxnResponse(Message, api_key=26, versions=(0, 5), flexible_since=3):
    throttle_time_ms: int = field("int32", default=0)
    error_code: int = field("int16", default=0)
    producer_id: int = field("int64", default=-1, since=5)
    producer_epoch: int = field("int16", default=-1, since=5)
