"""ElectLeaders: the only replica leads already."""

from headwater.broker.context import RequestContext
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)


def elect_leaders(request: ElectLeadersRequest, context: RequestContext) -> ElectLeadersResponse:
    topics = context.broker.topics
    if request.topic_partitions is None:
        return ElectLeadersResponse(replica_election_results=[])
    return ElectLeadersResponse(
        replica_election_results=[
            ReplicaElectionResult(
                topic=asked.topic,
                partition_result=[
                    _result(index, exists=topics.topic_has_partition(asked.topic, index))
                    for index in asked.partitions
                ],
            )
            for asked in request.topic_partitions
        ]
    )


def _result(index: int, *, exists: bool) -> PartitionResult:
    if exists:
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
