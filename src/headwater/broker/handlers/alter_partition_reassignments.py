"""AlterPartitionReassignments: there is nowhere else to go, and nothing under way to cancel."""

from headwater.broker.context import RequestContext
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)


def alter_partition_reassignments(
    request: AlterPartitionReassignmentsRequest, context: RequestContext
) -> AlterPartitionReassignmentsResponse:
    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        responses=[
            ReassignableTopicResponse(
                name=topic.name,
                partitions=[_respond(topic.name, each, context) for each in topic.partitions],
            )
            for topic in request.topics
        ],
    )


def _respond(
    topic: str, asked: ReassignablePartition, context: RequestContext
) -> ReassignablePartitionResponse:
    response = ReassignablePartitionResponse(partition_index=asked.partition_index)
    if not context.broker.topics.topic_has_partition(topic, asked.partition_index):
        response.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    elif asked.replicas is None:
        response.error_code = ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    elif list(asked.replicas) != [context.broker.node.node_id]:
        response.error_code = ErrorCode.INVALID_REPLICA_ASSIGNMENT
        response.error_message = f"The only broker is {context.broker.node.node_id}."
    return response
