"""One Spark session for all tests of the run, and a broker for each test that asks for one."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from headwater.testing import Broker
from rigs.client_fixtures import client, group, new_topic, topic
from streams.folder import folder
from streams.shop import shop

__all__ = ["client", "folder", "group", "new_topic", "shop", "topic"]


HERE = Path(__file__).parent
TIMEOUT_S = 300
"""A JVM takes its time to start on a busy machine."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for each in items:
        if HERE in each.path.parents:
            each.add_marker(pytest.mark.timeout(TIMEOUT_S))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator:
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not on PATH")
    from headwater.streams.session import close_session, open_session

    session = open_session(
        "headwater tests",
        # Two cores, and a task that dies is tried again.
        master="local[2,4]",
        conf={
            "spark.log.level": "OFF",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
            "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
        },
    )
    yield session
    close_session(session)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as started:
        yield started
