"""Whether tasks may look for the broker's own files."""

from pathlib import Path

from headwater.bulk.cluster import Cluster
from headwater.errors import HeadwaterError


def data_directory(cluster: Cluster) -> Path | None:
    """Where the broker keeps its data, if it says so; tasks check whether they see the same."""
    try:
        found = cluster.data_directory()
    except HeadwaterError:
        return None  # not every user may ask; the protocol serves as well
    return None if found is None else Path(found)
