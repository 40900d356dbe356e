"""Rows reach their topic exactly once, whichever process dies at whichever point."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, TopicPartition
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from headwater.client import Client

ROWS = 1000
MODES = ["each task", "atomic"]


class Sink:
    """A stream of numbers that repeats exactly, written to a topic of its own."""

    def __init__(self, spark: SparkSession, bootstrap: str, topic: str, folder: Path, mode: str):
        self.spark = spark
        self.bootstrap = bootstrap
        self.topic = topic
        self.checkpoint = folder / "checkpoint"
        self.mode = mode

    def numbers(self) -> DataFrame:
        return (
            self.spark.readStream.format("rate-micro-batch")
            .option("rowsPerBatch", ROWS)
            .option("numPartitions", 2)
            .load()
            .selectExpr("CAST(value % 10 AS STRING) AS key", "CAST(value AS STRING) AS value")
        )

    def start(self, frame: DataFrame | None = None) -> StreamingQuery:
        writer = (self.numbers() if frame is None else frame).writeStream.format("headwater")
        return (
            writer.option("kafka.bootstrap.servers", self.bootstrap)
            .option("topic", self.topic)
            .option("atomic", str(self.mode == "atomic").lower())
            .option("checkpointLocation", str(self.checkpoint))
            .start()
        )

    def run_until(self, batch: int) -> None:
        """Run until that batch is in Spark's commit log; start again whenever the query fails."""
        while self.committed() < batch:
            query = self.start()
            while query.isActive and self.committed() < batch:
                try:
                    query.awaitTermination(0.2)
                except StreamingQueryException:
                    break
            query.stop()

    def committed(self) -> int:
        names = [each.name for each in (self.checkpoint / "commits").glob("[0-9]*")]
        return max(map(int, names), default=-1)

    def found(self) -> list[int]:
        return sorted(int(value) for _, value, _ in read(self.bootstrap, self.topic))

    def expected(self) -> list[int]:
        """Batches that Spark has planned may be in the topic; those it has finished must be."""
        return list(range((self.committed() + 1) * ROWS))


def read(bootstrap: str, topic: str) -> list[tuple[bytes | None, bytes, Any]]:
    """Everything that a `read_committed` reader sees."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "reader",
            "auto.offset.reset": "earliest",
            "enable.partition.eof": True,
        }
    )
    partitions = consumer.list_topics(topic, 30).topics[topic].partitions
    consumer.assign([TopicPartition(topic, each, 0) for each in partitions])
    waiting = set(partitions)
    rows = []
    while waiting:
        message = consumer.poll(30)
        assert message is not None, f"no answer from partitions {waiting} of {topic}"
        error = message.error()
        if error is not None:
            assert error.code() == KafkaError._PARTITION_EOF, error
            waiting.discard(message.partition())
        else:
            rows.append((message.key(), message.value(), message.headers()))
    consumer.close()
    return rows


@pytest.fixture(params=MODES)
def sink(
    request: pytest.FixtureRequest,
    spark: SparkSession,
    client: Client,
    new_topic: Callable[..., str],
    tmp_path: Path,
) -> Iterator[Sink]:
    bootstrap = client.connection.address.bootstrap
    yield Sink(spark, bootstrap, new_topic(partitions=3), tmp_path, request.param)
    for query in spark.streams.active:
        query.stop()


def test_every_row_is_there_once(sink: Sink) -> None:
    sink.run_until(3)
    assert sink.found()[: 4 * ROWS] == list(range(4 * ROWS))
    assert max(Counter(sink.found()).values()) == 1


@pytest.mark.parametrize("sink", ["each task"], indirect=True)
@pytest.mark.parametrize(
    "point",
    ["sink: after the first rows", "sink: before commit", "sink: after commit"],
)
def test_a_task_that_dies_neither_loses_nor_doubles(
    sink: Sink, crash_file: Path, point: str
) -> None:
    sink.run_until(0)
    crash_file.write_text(point)
    sink.run_until(sink.committed() + 3)
    assert not crash_file.exists(), "no process reached the point"
    assert sink.found()[: len(sink.expected())] == sink.expected()
    assert max(Counter(sink.found()).values()) == 1


@pytest.mark.parametrize("sink", ["atomic"], indirect=True)
@pytest.mark.parametrize(
    "point",
    [
        "atomic sink: after staging",
        "atomic sink: before the transaction",
        "atomic sink: between two tasks",
        "atomic sink: after commit",
    ],
)
def test_a_batch_is_whole_or_absent_wherever_a_process_dies(
    sink: Sink, crash_file: Path, point: str
) -> None:
    sink.run_until(0)
    crash_file.write_text(point)
    sink.run_until(sink.committed() + 3)
    assert not crash_file.exists(), "no process reached the point"
    found = sink.found()
    assert found == list(range(len(found)))
    assert len(found) >= len(sink.expected())
    assert len(found) % ROWS == 0, "part of a batch is visible"


def forget(log: Path, batch: int) -> None:
    """Take a batch and those after it out of one of Spark's logs."""
    for each in log.iterdir():
        number = each.name.strip(".").removesuffix(".crc")
        if number.isdecimal() and int(number) >= batch:
            each.unlink()


def test_a_batch_that_spark_repeats_is_written_once(sink: Sink) -> None:
    """Spark forgets that it finished: killed after the sink's commit, before its own."""
    sink.run_until(2)
    last = sink.committed()
    forget(sink.checkpoint / "commits", last)
    forget(sink.checkpoint / "offsets", last + 1)
    assert sink.committed() == last - 1
    sink.run_until(last + 1)
    assert sink.found()[: len(sink.expected())] == sink.expected()
    assert max(Counter(sink.found()).values()) == 1


def test_a_new_checkpoint_is_a_new_beginning(sink: Sink, tmp_path: Path) -> None:
    """A marker kept by name would silently drop what the new query writes."""
    sink.run_until(1)
    before = len(sink.found())
    sink.checkpoint = tmp_path / "another"
    sink.run_until(0)
    assert len(sink.found()) >= before + ROWS


def test_deletions_headers_and_topics_of_rows(
    spark: SparkSession, client: Client, new_topic: Callable[..., str]
) -> None:
    bootstrap = client.connection.address.bootstrap
    first, second = new_topic(partitions=1), new_topic(partitions=1)
    header = F.array(F.struct(F.lit("h").alias("key"), F.lit(b"1").alias("value")))
    rows = spark.range(4, numPartitions=1).select(
        F.col("id").cast("string").alias("key"),
        F.when(F.col("id") != 2, F.to_json(F.struct("id"))).alias("value"),
        F.when(F.col("id") < 3, F.lit(first)).otherwise(F.lit(second)).alias("topic"),
        F.when(F.col("id") == 1, header).alias("headers"),
    )
    rows.write.format("headwater").mode("append").option(
        "kafka.bootstrap.servers", bootstrap
    ).save()
    assert [
        (key, value and json.loads(value), headers)
        for key, value, headers in read(bootstrap, first)
    ] == [
        (b"0", {"id": 0}, None),
        (b"1", {"id": 1}, [("h", b"1")]),
        (b"2", None, None),
    ]
    assert [key for key, _, _ in read(bootstrap, second)] == [b"3"]


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        (["id"], "needs a column named value"),
        (["id AS value"], "'value' must be string or binary, not bigint"),
        (["'' AS value", "id AS other"], "does not know the column 'other'"),
    ],
)
def test_columns_that_are_no_record_are_refused(
    spark: SparkSession, client: Client, expression: list[str], words: str
) -> None:
    bootstrap = client.connection.address.bootstrap
    rows = spark.range(1).selectExpr(*expression)
    writer = rows.write.format("headwater").mode("append").option("topic", "x")
    with pytest.raises(AnalysisException, match=words):
        writer.option("kafka.bootstrap.servers", bootstrap).save()
