"""Names and topics that no other test uses."""

from collections.abc import Callable
from uuid import uuid4

import pytest

from conformance.calls import create_topic
from conformance.raw import Connection


@pytest.fixture
def name() -> str:
    return f"clients-{uuid4().hex[:12]}"


@pytest.fixture
def new_topic(bootstrap: str) -> Callable[[int], str]:
    def new_topic(partitions: int = 1) -> str:
        topic = f"clients-{uuid4().hex[:12]}"
        with Connection(bootstrap) as connection:
            create_topic(connection, topic, partitions)
        return topic

    return new_topic


@pytest.fixture
def topic(new_topic: Callable[[int], str]) -> str:
    return new_topic(1)
