"""`writeStream.format("headwater")` in a real Spark session: exactly once over restarts."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from bulk.reading import produce
from headwater.streams.sink.foreach_batch import into_topic
from headwater.streams.sink.marker import Writer
from headwater.streams.sink.options import SinkOptions
from headwater.streams.sink.presence import Sign, read_sign
from headwater.testing import Broker
from streams.test_source import sentence

pytestmark = pytest.mark.timeout(300)  # Spark takes its time on a busy machine

MODES = [pytest.param({}, id="by task"), pytest.param({"atomic": "true"}, id="atomic")]


def address(broker: Broker) -> dict[str, str]:
    return {"kafka.bootstrap.servers": broker.bootstrap}


def read(spark: SparkSession, broker: Broker, topic: str) -> DataFrame:
    opened = spark.read.format("headwater").options(**address(broker))
    return opened.option("subscribe", topic).option("includeHeaders", "true").load()


def run(
    frame: DataFrame, broker: Broker, checkpoint: Path, *, is_update: bool = False, **options: Any
) -> None:
    given = {**address(broker), "topic": "out", "checkpointLocation": str(checkpoint), **options}
    writing = frame.writeStream.trigger(availableNow=True).option(
        "checkpointLocation", str(checkpoint)
    )
    if is_update:
        query = writing.outputMode("update").foreachBatch(into_topic(given)).start()
    else:
        query = writing.format("headwater").options(**given).start()
    try:
        query.awaitTermination()
    finally:
        query.stop()


def forget_last_commit(checkpoint: Path) -> None:
    """What a driver leaves that died after the sink had committed, before Spark wrote it down."""
    commits = checkpoint / "commits"
    last = max(int(each.name) for each in commits.iterdir() if each.name.isdecimal())
    for name in (f"{last}", f".{last}.crc"):
        (commits / name).unlink(missing_ok=True)


def read_sign_of(broker: Broker, checkpoint: Path) -> Sign:
    query_id = json.loads((checkpoint / "metadata").read_text())["id"]
    options = SinkOptions.of(address(broker) | {"topic": "out"}, is_stream=True)
    with options.log.cluster() as cluster:
        for sink in ("", "out"):  # as a stream, and inside of foreachBatch
            if (sign := read_sign(cluster, Writer(query_id, None, sink))) is not None:
                return sign
    raise AssertionError("there is no sign")


@pytest.fixture
def numbers(broker: Broker) -> Broker:
    broker.create_topic("in", partitions=2, retention_ms=-1)
    send(broker, 0, 20)
    return broker


def send(broker: Broker, first: int, end: int) -> None:
    records = [
        {"value": b"%d" % number, "key": b"%d" % (number % 3), "partition": number % 2}
        for number in range(first, end)
    ]
    produce(broker.bootstrap, "in", records)


def stream(spark: SparkSession, broker: Broker, start: str = "earliest") -> DataFrame:
    return (
        spark.readStream.format("headwater")
        .options(**address(broker), subscribe="in", startingOffsets=start)
        .option("maxOffsetsPerTrigger", "12")
        .load()
    )


@pytest.mark.parametrize("mode", MODES)
def test_a_batch_that_spark_runs_again_is_not_written_again(
    spark: SparkSession, numbers: Broker, tmp_path: Path, mode: dict[str, str]
) -> None:
    frame = stream(spark, numbers).select("key", "value")
    run(frame, numbers, tmp_path, **mode)
    forget_last_commit(tmp_path)
    send(numbers, 20, 25)
    run(frame, numbers, tmp_path, **mode)
    values = [int(row.value) for row in read(spark, numbers, "out").collect()]
    assert sorted(values) == list(range(25))


@pytest.mark.parametrize("is_update", [False, True], ids=["append", "update"])
def test_the_sign_of_a_batch_tells_which_run_has_finished_it(
    spark: SparkSession, numbers: Broker, tmp_path: Path, *, is_update: bool
) -> None:
    """The next batch of the same run then need not look at the markers of hundreds of tasks."""
    frame = stream(spark, numbers).select("key", "value")
    run(frame, numbers, tmp_path, is_update=is_update)
    first = read_sign_of(numbers, tmp_path)
    send(numbers, 20, 25)
    run(frame, numbers, tmp_path, is_update=is_update)
    second = read_sign_of(numbers, tmp_path)
    assert (first.next_batch, second.next_batch) == (2, 3)
    assert None not in (first.run, second.run)
    assert first.run != second.run


@pytest.mark.parametrize("mode", MODES)
def test_running_totals_become_a_changelog(
    spark: SparkSession, numbers: Broker, tmp_path: Path, mode: dict[str, str]
) -> None:
    """Stateful, with a shuffle: tasks of a replay have the same rows, maybe in another order."""
    totals = (
        stream(spark, numbers)
        .groupBy("key")
        .agg(F.sum(F.expr("CAST(CAST(value AS STRING) AS INT)")).alias("sum"))
    )
    records = totals.select("key", F.to_json(F.struct("sum")).alias("value"))
    run(records, numbers, tmp_path, is_update=True, **mode)
    forget_last_commit(tmp_path)
    run(records, numbers, tmp_path, is_update=True, **mode)
    written = [
        (row.key, json.loads(row.value)["sum"]) for row in read(spark, numbers, "out").collect()
    ]
    expected = {b"%d" % key: sum(range(key, 20, 3)) for key in range(3)}
    assert dict(sorted(written, key=lambda each: each[1])) == expected
    assert len(written) == len(set(written)), "each state was written once"


def test_a_query_that_begins_with_nothing_to_write(
    spark: SparkSession, numbers: Broker, tmp_path: Path
) -> None:
    """Its first batch has no rows and no tasks; later ones are not taken for a stranger's."""
    frame = stream(spark, numbers, start="latest").select("value")
    run(frame, numbers, tmp_path)
    send(numbers, 20, 23)
    run(frame, numbers, tmp_path)
    assert sorted(int(row.value) for row in read(spark, numbers, "out").collect()) == [20, 21, 22]


def test_a_batch_write_with_every_column(spark: SparkSession, broker: Broker) -> None:
    broker.create_topic("out", partitions=3)
    broker.create_topic("other")
    frame = spark.sql(
        """SELECT 'k1' AS key, 'text' AS value, NULL AS topic, 2 AS partition,
                  array(struct('h' AS key, CAST('1' AS BINARY) AS value)) AS headers,
                  TIMESTAMP '2026-09-01 10:00:00' AS timestamp
           UNION ALL SELECT 'k2', NULL, 'other', NULL, NULL, NULL"""
    )
    writing = frame.write.format("headwater").options(**address(broker), defaultTopic="out")
    writing.mode("append").save()
    row = read(spark, broker, "out").first()
    assert (row.key, row.value, row.partition, row.headers) == (b"k1", b"text", 2, [("h", b"1")])
    assert row.timestamp.isoformat() == "2026-09-01T10:00:00"
    deleted = read(spark, broker, "other").first()
    assert (deleted.key, deleted.value) == (b"k2", None)


@pytest.mark.parametrize(
    ("sql", "options", "said"),
    [
        ("SELECT 1 AS id", {"topic": "out"}, "the sink has no use for column 'id'"),
        ("SELECT 'x' AS value", {}, "there is no topic to write to"),
        ("SELECT 'x' AS value", {"topic": "a b"}, "cannot write to 'a b'"),
    ],
)
def test_mistakes_are_one_sentence(
    spark: SparkSession, broker: Broker, sql: str, options: dict[str, str], said: str
) -> None:
    writing = spark.sql(sql).write.format("headwater").options(**address(broker), **options)
    with pytest.raises(PySparkException) as raised:
        writing.mode("append").save()
    assert sentence(raised.value).startswith(said)


def test_keys_go_where_every_client_sends_them(spark: SparkSession, broker: Broker) -> None:
    """By Java's hash of the key, in bulk as one by one."""
    broker.create_topic("out", partitions=7)
    broker.create_topic("single", partitions=7)
    keys = [b"key-%d" % number for number in range(50)]
    produce(
        broker.bootstrap,
        "single",
        [{"key": each, "value": b"", "partition": -1} for each in keys],
        partitioner="murmur2_random",
    )
    frame = spark.createDataFrame([(each, b"") for each in keys], "key BINARY, value BINARY")
    frame.write.format("headwater").options(**address(broker), topic="out").mode("append").save()
    placed = [
        {row.key: row.partition for row in read(spark, broker, name).collect()}
        for name in ("out", "single")
    ]
    assert placed[0] == placed[1]
    assert len(placed[0]) == 50
