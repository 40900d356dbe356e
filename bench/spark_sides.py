"""Spark beside Spark, in one session: our source and sink on our broker, Spark's own on Apache Kafka."""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession
from results import OURS, THEIRS
from runs import Run

from headwater.streams.session import close_session, open_session
from rigs.process import Unavailable
from rigs.spark_connector import connector_jars

PARTITIONS: Final = 8
AGAINST: Final = "Spark's Kafka connector"
_FORMATS: Final = {OURS: "headwater", THEIRS: "kafka"}


@dataclass(frozen=True)
class Side:
    """One way from Spark to a log."""

    name: str
    bootstrap: str

    @property
    def is_ours(self) -> bool:
        return self.name == OURS

    def read(self, spark: SparkSession, topic: str, **options: str) -> DataFrame:
        return self._reader(spark.read, topic, options).load()

    def read_stream(self, spark: SparkSession, topic: str, **options: str) -> DataFrame:
        return self._reader(spark.readStream, topic, options).load()

    def write_all(self, rows: DataFrame, topic: str) -> float:
        """Run a stream to the end of what it reads; the seconds from its start to its end."""
        with tempfile.TemporaryDirectory(prefix="headwater-checkpoint-") as checkpoint:
            began = time.monotonic()
            query = (
                rows.writeStream.format(_FORMATS[self.name])
                .option("kafka.bootstrap.servers", self.bootstrap)
                .option("topic", topic)
                .option("checkpointLocation", checkpoint)
                .trigger(availableNow=True)
                .start()
            )
            query.awaitTermination()
            return time.monotonic() - began

    def _reader(self, reader: Any, topic: str, options: dict[str, str]) -> Any:
        return (
            reader.format(_FORMATS[self.name])
            .option("kafka.bootstrap.servers", self.bootstrap)
            .option("subscribe", topic)
            .option("startingOffsets", "earliest")
            .options(**options)
        )


@contextmanager
def spark_sides(run: Run) -> Iterator[tuple[SparkSession, list[Side]]]:
    """A session as pipelines have it, with Spark's connector beside ours, and a broker for each."""
    conf = {}
    try:
        conf["spark.jars"] = ",".join(map(str, connector_jars()))
    except Unavailable as reason:
        run.leave_out(THEIRS, str(reason))
    with run.side_by_side() as brokers:
        spark = open_session("bench", conf=conf)
        try:
            yield spark, [Side(name, broker.bootstrap) for name, broker in brokers.items()]
        finally:
            close_session(spark)
