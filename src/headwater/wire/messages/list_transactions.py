"""ListTransactions, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class ListTransactionsRequest(Message, api_key=66, versions=(0, 2), flexible_since=0):
    state_filters: Sequence[str] = field(["string"], default=())
    producer_id_filters: Sequence[int] = field(["int64"], default=())
    duration_filter: int = field("int64", default=-1, since=1)
    transactional_id_pattern: str | None = field("string", default=None, since=2, nullable=2)


class TransactionState(Struct):
    transactional_id: str = field("string", default="")
    producer_id: int = field("int64", default=0)
    transaction_state: str = field("string", default="")


class ListTransactionsResponse(Message, api_key=66, versions=(0, 2), flexible_since=0):
    throttle_time_ms: int = field("int32", default=0)
    error_code: int = field("int16", default=0)
    unknown_state_filters: Sequence[str] = field(["string"], default=())
    transaction_states: Sequence[TransactionState] = field([TransactionState], default=())
