"""Which broker keeps a group, or a transactional id."""

from typing import Final

from headwater.bulk.broker_errors import refuse
from headwater.bulk.cluster import Cluster
from headwater.bulk.connection import Connection
from headwater.wire.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

FIND_COORDINATOR_VERSION: Final = 3
_GROUP: Final = 0
_TRANSACTION: Final = 1


def group_coordinator(cluster: Cluster, group: str) -> Connection:
    return _coordinator(cluster, group, _GROUP, "group")


def transaction_coordinator(cluster: Cluster, transactional_id: str) -> Connection:
    return _coordinator(cluster, transactional_id, _TRANSACTION, "transactional id")


def _coordinator(cluster: Cluster, key: str, kind: int, what: str) -> Connection:
    if (kind, key) not in cluster.coordinators:
        answer = cluster.any_broker().call(
            FindCoordinatorRequest(key=key, key_type=kind),
            FIND_COORDINATOR_VERSION,
            FindCoordinatorResponse,
        )
        refuse(answer.error_code, doing=f"find the coordinator of {what} {key}")
        cluster.coordinators[kind, key] = (answer.host, answer.port)
    return cluster.connection(cluster.coordinators[kind, key])
