"""A client of the broker under test (`bootstrap`), topics and groups with names of their own."""

import uuid
from collections.abc import Callable, Iterator

import pytest

import headwater
from headwater.client import Client


@pytest.fixture
def client(bootstrap: str) -> Iterator[Client]:
    with headwater.connect(bootstrap, timeout_s=15) as connected:
        yield connected


@pytest.fixture
def new_topic(client: Client) -> Iterator[Callable[..., str]]:
    """Make topics with names of their own; they are deleted afterwards."""
    made: list[str] = []

    def create(partitions: int = 1, **configs: str) -> str:
        name = f"t-{uuid.uuid4().hex[:10]}"
        # Tests write records with old timestamps, and the broker under test cleans up often.
        kept = {"retention.ms": "-1", **configs}
        client.admin.topics.create(name, partitions=partitions, replicas=1, configs=kept)
        made.append(name)
        return name

    yield create
    for name in made:
        if name in client.admin.topics.names():
            client.admin.topics.delete(name)


@pytest.fixture
def topic(new_topic: Callable[..., str]) -> str:
    return new_topic()


@pytest.fixture
def group() -> str:
    return f"g-{uuid.uuid4().hex[:10]}"
