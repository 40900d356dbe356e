"""The dispatch table: request to handler. `ApiVersions` is derived from it, so it cannot lie."""

from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple

from headwater.broker.context import RequestContext
from headwater.broker.handlers.add_offsets_to_txn import add_offsets_to_txn
from headwater.broker.handlers.add_partitions_to_txn import add_partitions_to_txn
from headwater.broker.handlers.alter_configs import alter_configs
from headwater.broker.handlers.alter_partition_reassignments import alter_partition_reassignments
from headwater.broker.handlers.api_versions import api_versions
from headwater.broker.handlers.create_partitions import create_partitions
from headwater.broker.handlers.create_topics import create_topics
from headwater.broker.handlers.delete_groups import delete_groups
from headwater.broker.handlers.delete_records import delete_records
from headwater.broker.handlers.delete_topics import delete_topics
from headwater.broker.handlers.describe_acls import describe_acls
from headwater.broker.handlers.describe_client_quotas import describe_client_quotas
from headwater.broker.handlers.describe_cluster import describe_cluster
from headwater.broker.handlers.describe_configs import describe_configs
from headwater.broker.handlers.describe_groups import describe_groups
from headwater.broker.handlers.describe_log_dirs import describe_log_dirs
from headwater.broker.handlers.describe_producers import describe_producers
from headwater.broker.handlers.describe_quorum import describe_quorum
from headwater.broker.handlers.describe_topic_partitions import describe_topic_partitions
from headwater.broker.handlers.describe_transactions import describe_transactions
from headwater.broker.handlers.elect_leaders import elect_leaders
from headwater.broker.handlers.end_txn import end_txn
from headwater.broker.handlers.fetch import fetch
from headwater.broker.handlers.find_coordinator import find_coordinator
from headwater.broker.handlers.heartbeat import heartbeat
from headwater.broker.handlers.incremental_alter_configs import incremental_alter_configs
from headwater.broker.handlers.init_producer_id import init_producer_id
from headwater.broker.handlers.join_group import join_group
from headwater.broker.handlers.leave_group import leave_group
from headwater.broker.handlers.list_config_resources import list_config_resources
from headwater.broker.handlers.list_groups import list_groups
from headwater.broker.handlers.list_offsets import list_offsets
from headwater.broker.handlers.list_partition_reassignments import list_partition_reassignments
from headwater.broker.handlers.list_transactions import list_transactions
from headwater.broker.handlers.metadata import metadata
from headwater.broker.handlers.offset_commit import offset_commit
from headwater.broker.handlers.offset_delete import offset_delete
from headwater.broker.handlers.offset_fetch import offset_fetch
from headwater.broker.handlers.offset_for_leader_epoch import offset_for_leader_epoch
from headwater.broker.handlers.produce import produce
from headwater.broker.handlers.sync_group import sync_group
from headwater.broker.handlers.txn_offset_commit import txn_offset_commit
from headwater.broker.handlers.write_txn_markers import write_txn_markers
from headwater.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from headwater.wire.messages.add_partitions_to_txn import AddPartitionsToTxnRequest
from headwater.wire.messages.alter_configs import AlterConfigsRequest
from headwater.wire.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest
from headwater.wire.messages.api_versions import ApiVersionsRequest
from headwater.wire.messages.create_partitions import CreatePartitionsRequest
from headwater.wire.messages.create_topics import CreateTopicsRequest
from headwater.wire.messages.delete_groups import DeleteGroupsRequest
from headwater.wire.messages.delete_records import DeleteRecordsRequest
from headwater.wire.messages.delete_topics import DeleteTopicsRequest
from headwater.wire.messages.describe_acls import DescribeAclsRequest
from headwater.wire.messages.describe_client_quotas import DescribeClientQuotasRequest
from headwater.wire.messages.describe_cluster import DescribeClusterRequest
from headwater.wire.messages.describe_configs import DescribeConfigsRequest
from headwater.wire.messages.describe_groups import DescribeGroupsRequest
from headwater.wire.messages.describe_log_dirs import DescribeLogDirsRequest
from headwater.wire.messages.describe_producers import DescribeProducersRequest
from headwater.wire.messages.describe_quorum import DescribeQuorumRequest
from headwater.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest
from headwater.wire.messages.describe_transactions import DescribeTransactionsRequest
from headwater.wire.messages.elect_leaders import ElectLeadersRequest
from headwater.wire.messages.end_txn import EndTxnRequest
from headwater.wire.messages.fetch import FetchRequest
from headwater.wire.messages.find_coordinator import FindCoordinatorRequest
from headwater.wire.messages.heartbeat import HeartbeatRequest
from headwater.wire.messages.incremental_alter_configs import IncrementalAlterConfigsRequest
from headwater.wire.messages.init_producer_id import InitProducerIdRequest
from headwater.wire.messages.join_group import JoinGroupRequest
from headwater.wire.messages.leave_group import LeaveGroupRequest
from headwater.wire.messages.list_config_resources import ListConfigResourcesRequest
from headwater.wire.messages.list_groups import ListGroupsRequest
from headwater.wire.messages.list_offsets import ListOffsetsRequest
from headwater.wire.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from headwater.wire.messages.list_transactions import ListTransactionsRequest
from headwater.wire.messages.metadata import MetadataRequest
from headwater.wire.messages.offset_commit import OffsetCommitRequest
from headwater.wire.messages.offset_delete import OffsetDeleteRequest
from headwater.wire.messages.offset_fetch import OffsetFetchRequest
from headwater.wire.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from headwater.wire.messages.produce import ProduceRequest
from headwater.wire.messages.sync_group import SyncGroupRequest
from headwater.wire.messages.txn_offset_commit import TxnOffsetCommitRequest
from headwater.wire.messages.write_txn_markers import WriteTxnMarkersRequest
from headwater.wire.schema import Message

Handler = Callable[[Any, RequestContext], Message | Awaitable[Message | None] | None]
"""Takes a request, returns its response or an awaitable of it; None: nothing is answered (acks=0)."""


class Api(NamedTuple):
    """One API that clients may call."""

    request: type[Message]
    handler: Handler

    @property
    def name(self) -> str:
        return self.request.__name__.removesuffix("Request")


HANDLERS: Final[dict[type[Message], Handler]] = {
    ProduceRequest: produce,
    FetchRequest: fetch,
    ListOffsetsRequest: list_offsets,
    MetadataRequest: metadata,
    OffsetCommitRequest: offset_commit,
    OffsetFetchRequest: offset_fetch,
    FindCoordinatorRequest: find_coordinator,
    JoinGroupRequest: join_group,
    HeartbeatRequest: heartbeat,
    LeaveGroupRequest: leave_group,
    SyncGroupRequest: sync_group,
    DescribeGroupsRequest: describe_groups,
    ListGroupsRequest: list_groups,
    ApiVersionsRequest: api_versions,
    CreateTopicsRequest: create_topics,
    DeleteTopicsRequest: delete_topics,
    DeleteRecordsRequest: delete_records,
    InitProducerIdRequest: init_producer_id,
    OffsetForLeaderEpochRequest: offset_for_leader_epoch,
    AddPartitionsToTxnRequest: add_partitions_to_txn,
    AddOffsetsToTxnRequest: add_offsets_to_txn,
    EndTxnRequest: end_txn,
    WriteTxnMarkersRequest: write_txn_markers,
    TxnOffsetCommitRequest: txn_offset_commit,
    DescribeAclsRequest: describe_acls,
    DescribeConfigsRequest: describe_configs,
    AlterConfigsRequest: alter_configs,
    DescribeLogDirsRequest: describe_log_dirs,
    CreatePartitionsRequest: create_partitions,
    DeleteGroupsRequest: delete_groups,
    ElectLeadersRequest: elect_leaders,
    IncrementalAlterConfigsRequest: incremental_alter_configs,
    AlterPartitionReassignmentsRequest: alter_partition_reassignments,
    ListPartitionReassignmentsRequest: list_partition_reassignments,
    OffsetDeleteRequest: offset_delete,
    DescribeClientQuotasRequest: describe_client_quotas,
    DescribeQuorumRequest: describe_quorum,
    DescribeClusterRequest: describe_cluster,
    DescribeProducersRequest: describe_producers,
    DescribeTransactionsRequest: describe_transactions,
    ListTransactionsRequest: list_transactions,
    ListConfigResourcesRequest: list_config_resources,
    DescribeTopicPartitionsRequest: describe_topic_partitions,
}

APIS: Final = {request.api_key: Api(request, handler) for request, handler in HANDLERS.items()}
