"""One Spark session for all tests of streams: starting one takes longer than most tests."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.crash_points import VARIABLE
from rigs.client_fixtures import client, group, new_topic, topic

__all__ = ["client", "group", "new_topic", "topic"]


@pytest.fixture(scope="session")
def crash_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the name of a crash point into it, and the next worker that gets there dies."""
    return tmp_path_factory.mktemp("crash") / "point"


@pytest.fixture(scope="session")
def spark(crash_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    from headwater.streams.session import open_session

    os.environ[VARIABLE] = str(crash_file)
    session = open_session(
        "headwater tests",
        # Two cores, and a task that dies is tried again.
        master="local[2,4]",
        conf={
            "spark.sql.shuffle.partitions": "2",
            "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
        },
    )
    yield session
    session.stop()
    del os.environ[VARIABLE]
