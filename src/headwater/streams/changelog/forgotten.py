"""Whether a topic still has all changes since a snapshot: it forgets old records, and deletions too."""

from typing import Final

from headwater.bulk.cluster import EARLIEST, Cluster
from headwater.bulk.ranges import TopicPartition
from headwater.bulk.topic_configs import topic_configs
from headwater.streams.changelog.snapshots import Snapshot

_POLICY: Final = "cleanup.policy"
_KEPT_MS: Final = "delete.retention.ms"


def has_forgotten(cluster: Cluster, place: TopicPartition, snapshot: Snapshot, now_ms: int) -> bool:
    """Whether changes after the snapshot may be gone; a row that was deleted would stay in it for ever."""
    if cluster.offsets({place: EARLIEST})[place] > snapshot.end:
        return True
    configs = topic_configs(cluster, place.topic, (_POLICY, _KEPT_MS))
    is_compacted = "compact" in configs[_POLICY]
    return is_compacted and now_ms - snapshot.at_ms >= int(configs[_KEPT_MS])
