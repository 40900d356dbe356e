"""Which broker keeps a group, or a transactional id."""

from collections.abc import Sequence
from typing import Final

from headwater.bulk.broker_errors import refuse
from headwater.bulk.cluster import Cluster
from headwater.bulk.connection import Connection
from headwater.wire.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

FIND_COORDINATOR_VERSION: Final = 3
FIND_COORDINATORS_VERSION: Final = 4
"""From this one on a request names many keys."""
_GROUP: Final = 0
_TRANSACTION: Final = 1


def group_coordinator(cluster: Cluster, group: str) -> Connection:
    return _coordinator(cluster, group, _GROUP, "group")


def group_coordinators(
    cluster: Cluster, groups: Sequence[str]
) -> list[tuple[Connection, list[str]]]:
    """Return the brokers that keep some groups, each with those that it keeps; asked once for all."""
    unknown = [each for each in groups if (_GROUP, each) not in cluster.coordinators]
    if unknown:
        answer = cluster.any_broker().call(
            FindCoordinatorRequest(key_type=_GROUP, coordinator_keys=unknown),
            FIND_COORDINATORS_VERSION,
            FindCoordinatorResponse,
        )
        for each in answer.coordinators:
            refuse(each.error_code, doing=f"find the coordinator of group {each.key}")
            cluster.coordinators[_GROUP, each.key] = (each.host, each.port)
    kept: dict[tuple[str, int], list[str]] = {}
    for group in groups:
        kept.setdefault(cluster.coordinators[_GROUP, group], []).append(group)
    return [(cluster.connection(endpoint), names) for endpoint, names in kept.items()]


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
