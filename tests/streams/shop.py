"""A pipeline over topics of its own, and the means to run it: what tests of whole pipelines share."""

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.client import Client
from headwater.streams.pipeline import Pipeline
from headwater.streams.run.runner import Runner
from headwater.streams.run.status import Status
from headwater.streams.run.surroundings import Surroundings

ORDERS = "id LONG, customer LONG, total DOUBLE, at TIMESTAMP"


class Shop:
    """A pipeline over topics of its own, and the means to run it."""

    def __init__(
        self, spark: SparkSession, client: Client, orders: str, customers: str, folder: Path
    ) -> None:
        self.spark, self.client, self.folder = spark, client, folder
        self.orders_topic, self.customers_topic = orders, customers
        self.where = Surroundings(client.connection.address.bootstrap, folder)
        self.runner = Runner(spark, client, self.where)
        self.pipeline = self.new_pipeline()

    def new_pipeline(self) -> Pipeline:
        pipeline = Pipeline(f"shop-{self.orders_topic}")
        pipeline.topic(
            self.orders_topic, name="orders", schema=ORDERS, event_time="at", watermark="1 hour"
        )
        pipeline.changelog(
            self.customers_topic, name="customers", key="id", schema="id LONG, name STRING"
        )
        return pipeline

    def once(self, pipeline: Pipeline | None = None) -> dict[str, Status]:
        graph = (pipeline or self.pipeline).graph()
        return {each.query: each for each in self.runner.run_once([graph])}

    def keeping(self) -> Self:
        """The same, run with --keep-checkpoint."""
        self.runner = Runner(self.spark, self.client, replace(self.where, on_change="keep"))
        return self

    def reset(self, query: str) -> None:
        """`headwater pipeline reset`, in a folder whose profile has our checkpoints."""
        bootstrap = self.client.connection.address.bootstrap
        (self.folder.parent / "headwater.toml").write_text(
            f'[profiles.test]\nkafka = "{bootstrap}"\nstate = "{self.folder}"\n'
        )
        name = f"{self.pipeline.name}.{query}"
        command = [sys.executable, "-m", "headwater", "pipeline", "reset", name]
        subprocess.run([*command, "--yes", "--profile", "test"], cwd=self.folder.parent, check=True)

    def running(self) -> "Running":
        return Running(self.runner, self.pipeline)

    def order(self, *orders: tuple[int, int, float]) -> None:
        with self.client.producer() as producer:
            for number, customer, total in orders:
                at = f"2026-09-01T10:{number % 60:02d}:00Z"
                order = {"id": number, "customer": customer, "total": total, "at": at}
                producer.send(self.orders_topic, order, key=str(number))

    def values(self, dataset: str) -> list[Any]:
        topic = self.pipeline.topic_of(dataset, 1)
        with self.client.consumer(topic, until="end") as records:
            return [record.value for record in records]

    def latest(self, dataset: str) -> dict[str, Any]:
        topic = self.pipeline.topic_of(dataset, 1)
        with self.client.consumer(topic, until="end") as records:
            found = {str(record.key): record.value for record in records}
        return {key: value for key, value in found.items() if value is not None}


class Running:
    """The pipeline, run on and on until the with-block ends."""

    def __init__(self, runner: Runner, pipeline: Pipeline) -> None:
        self._stop = threading.Event()
        self._changed = threading.Condition()
        self._last: dict[str, Status] = {}
        arguments = ([pipeline.graph()], self._stop, self._note)
        self._thread = threading.Thread(target=runner.run, args=arguments)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def wait_for(self, query: str, condition: Callable[[Status], bool]) -> Status:
        with self._changed:
            is_so = self._changed.wait_for(
                lambda: query in self._last and condition(self._last[query]), timeout=100
            )
            assert is_so, (query, self._last[query].error, self._last)
            return self._last[query]

    def _note(self, statuses: Sequence[Status]) -> None:
        with self._changed:
            self._last |= {each.query: each for each in statuses}
            self._changed.notify_all()


@pytest.fixture
def shop(
    spark: SparkSession, client: Client, new_topic: Callable[..., str], tmp_path: Path
) -> Iterator[Shop]:
    yield Shop(spark, client, new_topic(partitions=2), new_topic(partitions=1), tmp_path / "state")
    for query in spark.streams.active:
        query.stop()


def per_customer(orders: DataFrame) -> DataFrame:
    return orders.groupBy("customer").agg(F.sum("total").alias("total"))
