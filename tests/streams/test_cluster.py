"""The pipeline that is under fire elsewhere, unchanged, on Apache Kafka and a Spark cluster."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import headwater
from conftest import running
from rigs.apache_kafka import ApacheKafka
from rigs.process import Unavailable
from rigs.spark_cluster import SparkCluster
from rigs.view_process import ViewProcess
from under_fire import outputs
from under_fire.feed import ACCOUNTS, EVENTS, Feed
from under_fire.oracle import Oracle
from under_fire.processes import PIPELINE

pytestmark = pytest.mark.long

SEED, COUNT = 7, 10_000
PROFILE = """
[profiles.cluster]
kafka = "{kafka}"
spark = "{spark}"
state = "{state}"

[profiles.cluster.spark_conf]
"spark.driver.host" = "127.0.0.1"
"spark.executor.memory" = "512m"
"spark.sql.shuffle.partitions" = 2
"""


@pytest.fixture
def kafka() -> Iterator[str]:
    with running(lambda: ApacheKafka({"num.partitions": "2"})) as started:
        yield started.bootstrap


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[SparkCluster]:
    try:
        made = SparkCluster(tmp_path)
    except Unavailable as reason:
        pytest.skip(str(reason))
    with made:
        yield made


@pytest.mark.timeout(300)
def test_the_same_pipeline_runs_on_apache_kafka_and_a_spark_cluster(
    kafka: str, cluster: SparkCluster, tmp_path: Path
) -> None:
    with headwater.connect(kafka, timeout_s=30) as client:
        for each in (EVENTS, ACCOUNTS):
            client.admin.topics.create(each, partitions=2)
    feed = Feed(kafka, SEED, COUNT, read=lambda: COUNT)
    feed.send_accounts(SEED)
    feed.run()
    assert (feed.error, feed.sent) == (None, COUNT)
    settings = PROFILE.format(kafka=kafka, spark=cluster.master, state=tmp_path / "state")
    (tmp_path / "headwater.toml").write_text(settings)
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "headwater", "pipeline", "run", str(PIPELINE)),
            *("--once", "--profile", "cluster"),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "FIRE_BATCH": "6000"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert [len(list(each.glob("app-*"))) for each in cluster.work] == [1, 1], "where tasks ran"
    with (
        Oracle(SEED, COUNT) as oracle,
        ViewProcess(kafka, tmp_path / "views") as server,
        headwater.connect(kafka, views=server.url, timeout_s=30) as client,
    ):
        purchases = outputs.parsed("purchases", outputs.records(kafka, "fire.purchases"))
        assert oracle.compare("purchases", purchases).is_none
        for view in ("revenue", "totals"):
            served = outputs.served(client, view, outputs.records(kafka, f"fire.{view}"))
            assert served.num_rows > 0
            assert oracle.compare(view, served).is_none
