"""WriteTxnMarkers, by tools/generate_messages.py."""

from collections.abc import Sequence

from headwater.wire.schema import Message, Struct, field


class WritableTxnMarkerTopic(Struct):
    name: str = field("string", default="")
    partition_indexes: Sequence[int] = field(["int32"], default=())


class WritableTxnMarker(Struct):
    producer_id: int = field("int64", default=0)
    producer_epoch: int = field("int16", default=0)
    transaction_result: bool = field("bool", default=False)
    topics: Sequence[WritableTxnMarkerTopic] = field([WritableTxnMarkerTopic], default=())
    coordinator_epoch: int = field("int32", default=0)
    transaction_version: int = field("int8", default=0, since=2)


class WriteTxnMarkersRequest(Message, api_key=27, versions=(1, 2), flexible_since=1):
    markers: Sequence[WritableTxnMarker] = field([WritableTxnMarker], default=())


class WritableTxnMarkerPartitionResult(Struct):
    partition_index: int = field("int32", default=0)
    error_code: int = field("int16", default=0)


class WritableTxnMarkerTopicResult(Struct):
    name: str = field("string", default="")
    partitions: Sequence[WritableTxnMarkerPartitionResult] = field(
        [WritableTxnMarkerPartitionResult], default=()
    )


class WritableTxnMarkerResult(Struct):
    producer_id: int = field("int64", default=0)
    topics: Sequence[WritableTxnMarkerTopicResult] = field(
        [WritableTxnMarkerTopicResult], default=()
    )


class WriteTxnMarkersResponse(Message, api_key=27, versions=(1, 2), flexible_since=1):
    markers: Sequence[WritableTxnMarkerResult] = field([WritableTxnMarkerResult], default=())
