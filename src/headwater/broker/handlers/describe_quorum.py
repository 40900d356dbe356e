"""DescribeQuorum: a quorum of one, so that tools which look for a KRaft controller find this node."""

from headwater.broker import metadata_log
from headwater.broker.context import RequestContext
from headwater.wire.error_codes import ErrorCode
from headwater.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    DescribeQuorumResponsePartitionData,
    DescribeQuorumResponseTopicData,
    Listener,
    Node,
    ReplicaState,
)


def describe_quorum(
    request: DescribeQuorumRequest, context: RequestContext
) -> DescribeQuorumResponse:
    asked = [
        (topic.topic_name, each.partition_index)
        for topic in request.topics
        for each in topic.partitions
    ]
    if asked != [(metadata_log.NAME, 0)]:
        return _no_quorum(request)
    node = context.broker.node
    log = context.broker.metadata.partition.log
    now_ms = context.broker.clock.now_ms()
    voter = ReplicaState(
        replica_id=node.node_id,
        log_end_offset=log.high_watermark,
        last_fetch_timestamp=now_ms,
        last_caught_up_timestamp=now_ms,
    )
    topics = [
        DescribeQuorumResponseTopicData(
            topic_name=topic.topic_name,
            partitions=[
                DescribeQuorumResponsePartitionData(
                    partition_index=each.partition_index,
                    leader_id=node.node_id,
                    leader_epoch=1,
                    high_watermark=log.high_watermark,
                    current_voters=[voter],
                    observers=[],
                )
                for each in topic.partitions
            ],
        )
        for topic in request.topics
    ]
    listener = Listener(name="CONTROLLER", host=node.host, port=node.port)
    return DescribeQuorumResponse(
        topics=topics, nodes=[Node(node_id=node.node_id, listeners=[listener])]
    )


def _no_quorum(request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    """Only the log of the metadata is kept by a quorum."""
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return DescribeQuorumResponse(
        topics=[
            DescribeQuorumResponseTopicData(
                topic_name=topic.topic_name,
                partitions=[
                    DescribeQuorumResponsePartitionData(
                        partition_index=each.partition_index, error_code=unknown
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
