"""A connection to the broker under test, and names that no other test uses."""

from collections.abc import Callable, Iterator
from uuid import uuid4

import pytest

from conformance.calls import create_topic, eventually
from conformance.raw import Connection, ErrorCode
from conformance.transactional import NEW, OLD, Transactional

NewTopic = Callable[..., str]


@pytest.fixture
def connection(bootstrap: str) -> Iterator[Connection]:
    with Connection(bootstrap) as connection:
        yield connection


@pytest.fixture
def connect(bootstrap: str) -> Iterator[Callable[[], Connection]]:
    """More connections, for scenarios in which one of them waits for another."""
    opened: list[Connection] = []

    def connect() -> Connection:
        opened.append(Connection(bootstrap))
        return opened[-1]

    yield connect
    for connection in opened:
        connection.close()


@pytest.fixture
def name() -> str:
    return f"conformance-{uuid4().hex[:12]}"


@pytest.fixture
def new_topic(connection: Connection) -> NewTopic:
    """Create a topic with these partitions and configs, ready for use; returns its name."""

    def new_topic(partitions: int = 1, configs: dict[str, str] | None = None) -> str:
        name = f"conformance-{uuid4().hex[:12]}"
        create_topic(connection, name, partitions, configs)
        return name

    return new_topic


@pytest.fixture
def topic(new_topic: NewTopic) -> str:
    """A topic with one partition and no configs of its own."""
    return new_topic()


@pytest.fixture(scope="session")
def coordinator(bootstrap: str) -> None:
    """A coordinator that has loaded: the first group makes Kafka create its offsets topic."""
    with Connection(bootstrap) as connection:
        eventually(lambda: _is_loaded(connection))


def _is_loaded(connection: Connection) -> bool:
    found = connection.request("find_coordinator", 4, key_type=0, coordinator_keys=["probe"])
    if found.coordinators[0].error_code != ErrorCode.none:
        return False
    answer = connection.request("offset_fetch", 7, group_id="probe", topics=None)
    return bool(answer.error_code == ErrorCode.none)


@pytest.fixture
def group(coordinator: None) -> str:  # noqa: ARG001, a fixture cannot use fixtures by mark
    return f"conformance-group-{uuid4().hex[:12]}"


@pytest.fixture(params=["old", "new"])
def transactional(
    request: pytest.FixtureRequest, connection: Connection
) -> Callable[..., Transactional]:
    """Make transactional producers, each with an id of its own, in both dialects."""
    dialect = {"old": OLD, "new": NEW}[request.param]

    def transactional(transactional_id: str | None = None, **fields: int) -> Transactional:
        name = transactional_id or f"conformance-{uuid4().hex[:12]}"
        return Transactional(connection, name, dialect, **fields).start()

    return transactional
