"""Tests may import what is in this folder, and share one Spark session."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from headwater.streams.session import close_session, open_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    session = open_session("tests of the shop", master="local[2]")
    yield session
    close_session(session)
