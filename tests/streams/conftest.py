"""One Spark session for all tests of the run, and a broker for each test that asks for one."""

import shutil
from collections.abc import Iterator

import pytest

from headwater.testing import Broker


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator:
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not on PATH")
    from pyspark.sql import SparkSession

    from headwater.streams import register

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    register(session)
    yield session
    session.stop()


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as started:
        yield started
