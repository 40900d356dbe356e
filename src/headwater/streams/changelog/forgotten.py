"""Whether a topic still has all changes since a snapshot: it forgets old records, and deletions too."""

from typing import Final

from headwater.bulk.broker_errors import refuse
from headwater.bulk.cluster import EARLIEST, Cluster
from headwater.bulk.ranges import TopicPartition
from headwater.streams.changelog.snapshots import Snapshot
from headwater.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)

_VERSION: Final = 4
_TOPIC: Final = 2
_POLICY: Final = "cleanup.policy"
_KEPT_MS: Final = "delete.retention.ms"


def has_forgotten(cluster: Cluster, place: TopicPartition, snapshot: Snapshot, now_ms: int) -> bool:
    """Whether changes after the snapshot may be gone; a row that was deleted would stay in it for ever."""
    if cluster.offsets({place: EARLIEST})[place] > snapshot.end:
        return True
    configs = cluster.patiently(lambda: _configs(cluster, place.topic))
    is_compacted = "compact" in configs[_POLICY]
    return is_compacted and now_ms - snapshot.at_ms >= int(configs[_KEPT_MS])


def _configs(cluster: Cluster, topic: str) -> dict[str, str]:
    asked = DescribeConfigsResource(
        resource_type=_TOPIC, resource_name=topic, configuration_keys=(_POLICY, _KEPT_MS)
    )
    request = DescribeConfigsRequest(resources=(asked,))
    (result,) = cluster.any_broker().call(request, _VERSION, DescribeConfigsResponse).results
    refuse(result.error_code, doing=f"see how long {topic} remembers deletions")
    return {each.name: each.value or "" for each in result.configs}
