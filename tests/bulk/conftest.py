"""A cluster to read from: the broker under test (`--broker`)."""

from collections.abc import Iterator

import pytest

from headwater.bulk.cluster import Cluster
from headwater.client.address import find_address
from rigs.client_fixtures import client, new_topic, topic

__all__ = ["client", "new_topic", "topic"]


@pytest.fixture
def cluster(bootstrap: str) -> Iterator[Cluster]:
    with Cluster(find_address(bootstrap).endpoints) as connected:
        yield connected
