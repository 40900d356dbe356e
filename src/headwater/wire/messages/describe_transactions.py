"""DescribeTransactions, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class DescribeTransactionsRequest(Message, api_key=65, versions=(0, 0), flexible_since=0):
    transactional_ids: Sequence[str] = field(["string"], default=())


class TopicData(Struct):
    topic: str = field("string", default="")
    partitions: Sequence[int] = field(["int32"], default=())


class TransactionState(Struct):
    error_code: int = field("int16", default=0)
    transactional_id: str = field("string", default="")
    transaction_state: str = field("string", default="")
    transaction_timeout_ms: int = field("int32", default=0)
    transaction_start_time_ms: int = field("int64", default=0)
    producer_id: int = field("int64", default=0)
    producer_epoch: int = field("int16", default=0)
    topics: Sequence[TopicData] = field([TopicData], default=())


class DescribeTransactionsResponse(Message, api_key=65, versions=(0, 0), flexible_since=0):
    throttle_time_ms: int = field("int32", default=0)
    transaction_states: Sequence[TransactionState] = field([TransactionState], default=())
