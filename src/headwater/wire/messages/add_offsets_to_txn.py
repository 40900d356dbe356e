"""AddOffsetsToTxn, by tools/generate_messages.py."""

from headwater.wire.schema import Message, field


class AddOffsetsToTxnRequest(Message, api_key=25, versions=(0, 4), flexible_since=3):
    transactional_id: str = field("string", default="")
    producer_id: int = field("int64", default=0)
    producer_epoch: int = field("int16", default=0)
    group_id: str = field("string", default="")


class AddOffsetsToTxnResponse(Message, api_key=25, versions=(0, 4), flexible_since=3):
    throttle_time_ms: int = field("int32", default=0)
    error_code: int = field("int16", default=0)
