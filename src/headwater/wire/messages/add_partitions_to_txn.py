"""AddPartitionsToTxn, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class AddPartitionsToTxnTopic(Struct):
    name: str = field("string", default="")
    partitions: Sequence[int] = field(["int32"], default=())


class AddPartitionsToTxnTransaction(Struct):
    transactional_id: str = field("string", default="", since=4)
    producer_id: int = field("int64", default=0, since=4)
    producer_epoch: int = field("int16", default=0, since=4)
    verify_only: bool = field("bool", default=False, since=4)
    topics: Sequence[AddPartitionsToTxnTopic] = field(
        [AddPartitionsToTxnTopic], default=(), since=4
    )


class AddPartitionsToTxnRequest(Message, api_key=24, versions=(0, 5), flexible_since=3):
    v3_and_below_transactional_id: str = field("string", default="", until=3)
    v3_and_below_producer_id: int = field("int64", default=0, until=3)
    v3_and_below_producer_epoch: int = field("int16", default=0, until=3)
    v3_and_below_topics: Sequence[AddPartitionsToTxnTopic] = field(
        [AddPartitionsToTxnTopic], default=(), until=3
    )
    transactions: Sequence[AddPartitionsToTxnTransaction] = field(
        [AddPartitionsToTxnTransaction], default=(), since=4
    )


class AddPartitionsToTxnPartitionResult(Struct):
    partition_index: int = field("int32", default=0)
    partition_error_code: int = field("int16", default=0)


class AddPartitionsToTxnTopicResult(Struct):
    name: str = field("string", default="")
    results_by_partition: Sequence[AddPartitionsToTxnPartitionResult] = field(
        [AddPartitionsToTxnPartitionResult], default=()
    )


class AddPartitionsToTxnResult(Struct):
    transactional_id: str = field("string", default="", since=4)
    topic_results: Sequence[AddPartitionsToTxnTopicResult] = field(
        [AddPartitionsToTxnTopicResult], default=(), since=4
    )


class AddPartitionsToTxnResponse(Message, api_key=24, versions=(0, 5), flexible_since=3):
    throttle_time_ms: int = field("int32", default=0)
    results_by_topic_v3_and_below: Sequence[AddPartitionsToTxnTopicResult] = field(
        [AddPartitionsToTxnTopicResult], default=(), until=3
    )
    error_code: int = field("int16", default=0, since=4)
    results_by_transaction: Sequence[AddPartitionsToTxnResult] = field(
        [AddPartitionsToTxnResult], default=(), since=4
    )
