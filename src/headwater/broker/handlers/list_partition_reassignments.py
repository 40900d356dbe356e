"""ListPartitionReassignments: one broker, so nothing ever moves."""

from headwater.broker.context import RequestContext
from headwater.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)


def list_partition_reassignments(
    _: ListPartitionReassignmentsRequest, __: RequestContext
) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(topics=[])
