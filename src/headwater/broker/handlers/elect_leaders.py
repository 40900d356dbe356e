"""ElectLeaders: the only replica leads already."""

from headwater.broker.context import RequestContext
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

PREFERRED = 0
UNCLEAN = 1


def elect_leaders(request: ElectLeadersRequest, context: RequestContext) -> ElectLeadersResponse:
    is_known = request.election_type in (PREFERRED, UNCLEAN)
    return ElectLeadersResponse(
        error_code=ErrorCode.NONE if is_known else ErrorCode.INVALID_REQUEST,
        replica_election_results=[
            ReplicaElectionResult(
                topic=asked.topic,
                partition_result=[
                    _result(asked.topic, index, context) if is_known else _refused(index)
                    for index in asked.partitions
                ],
            )
            for asked in request.topic_partitions or []
        ],
    )


def _refused(index: int) -> PartitionResult:
    return PartitionResult(
        partition_id=index,
        error_code=ErrorCode.INVALID_REQUEST,
        error_message="Unknown election type.",
    )


def _result(name: str, index: int, context: RequestContext) -> PartitionResult:
    if context.broker.topics.topic_has_partition(name, index):
        return PartitionResult(
            partition_id=index,
            error_code=ErrorCode.ELECTION_NOT_NEEDED,
            error_message="Leader election not needed for topic partition.",
        )
    return PartitionResult(
        partition_id=index,
        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        error_message="No such topic or partition.",
    )
