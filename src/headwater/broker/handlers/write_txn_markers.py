"""WriteTxnMarkers: end a transaction in some partitions by hand; how tools abort one that hangs."""

from headwater.broker.context import RequestContext
from headwater.broker.groups.journal import TransactionEnd
from headwater.broker.groups.records import TopicPartition
from headwater.errors import HeadwaterError
from headwater.wire.error_codes import ErrorCode, code_of
from headwater.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from headwater.wire.record_batch import ProducerIdAndEpoch


async def write_txn_markers(
    request: WriteTxnMarkersRequest, context: RequestContext
) -> WriteTxnMarkersResponse:
    return WriteTxnMarkersResponse(
        markers=[await _write(each, context) for each in request.markers]
    )


async def _write(marker: WritableTxnMarker, context: RequestContext) -> WritableTxnMarkerResult:
    end = TransactionEnd(
        marker.transaction_result, marker.coordinator_epoch, marker.transaction_version
    )
    outcomes = await context.broker.markers.write_each(
        ProducerIdAndEpoch(marker.producer_id, marker.producer_epoch),
        end,
        {
            TopicPartition(topic.name, index)
            for topic in marker.topics
            for index in topic.partition_indexes
        },
    )
    return WritableTxnMarkerResult(
        producer_id=marker.producer_id,
        topics=[
            WritableTxnMarkerTopicResult(
                name=topic.name,
                partitions=[
                    WritableTxnMarkerPartitionResult(
                        partition_index=index,
                        error_code=_code(outcomes[TopicPartition(topic.name, index)]),
                    )
                    for index in topic.partition_indexes
                ],
            )
            for topic in marker.topics
        ],
    )


def _code(error: HeadwaterError | None) -> ErrorCode:
    return ErrorCode.NONE if error is None else code_of(error)
