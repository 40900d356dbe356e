"""`format("headwater")` in a real Spark session: batch and stream, typed and raw, readable errors."""

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from bulk.reading import delete_topic, produce
from headwater.testing import Broker
from streams.schemas import HEADERS, RAW

pytestmark = pytest.mark.timeout(300)  # Spark takes its time on a busy machine

TYPED = {"valueSchema": "id BIGINT, tags ARRAY<STRING>", "metadata": "key, offset"}


def reader(spark: SparkSession, broker: Broker, *, stream: bool = False, **options: str) -> Any:
    opened = spark.readStream if stream else spark.read
    address = {"kafka.bootstrap.servers": broker.bootstrap}
    return opened.format("headwater").options(**address, **options)


def run_all(frame: DataFrame, checkpoint: Path, each_batch: Any) -> None:
    query = (
        frame.writeStream.foreachBatch(each_batch)
        .option("checkpointLocation", str(checkpoint))
        .trigger(availableNow=True)
        .start()
    )
    try:
        query.awaitTermination()
    finally:
        query.stop()


def sentence(error: PySparkException) -> str:
    """What we said: the last line of our own in what Spark makes of it."""
    return re.findall(r"^headwater\.errors\.\w+: (.*)$", str(error), re.MULTILINE)[-1]


@pytest.fixture
def orders(broker: Broker) -> Broker:
    broker.create_topic("orders", partitions=2)
    values = [b'{"id":%d,"tags":["a",null]}' % number for number in range(9)]
    values.insert(5, b"garbage")
    produce(
        broker.bootstrap,
        "orders",
        [
            {"value": each, "partition": at % 2, "key": b"k", "headers": [("h", b"1")]}
            for at, each in enumerate(values)
        ],
    )
    return broker


def test_a_batch_read_has_the_columns_of_sparks_kafka_source(
    spark: SparkSession, orders: Broker
) -> None:
    frame = reader(spark, orders, subscribe="orders").load()
    assert frame.schema == RAW
    assert frame.count() == 10
    ending = reader(spark, orders, subscribe="orders", endingOffsets='{"orders":{"0":1,"1":0}}')
    assert [row.offset for row in ending.load().collect()] == [0]
    with_headers = reader(spark, orders, subscribe="orders", includeHeaders="true").load()
    assert with_headers.schema == StructType([*RAW]).add("headers", HEADERS)
    row = with_headers.where("partition = 1 AND offset = 3").first()
    assert (row.key, row.topic, row.headers) == (b"k", "orders", [("h", b"1")])


def test_a_stream_of_typed_rows_goes_on_where_it_was(
    spark: SparkSession, orders: Broker, tmp_path: Path
) -> None:
    seen: list[tuple[int, list[int]]] = []

    def note(rows: DataFrame, batch_id: int) -> None:
        seen.append((batch_id, sorted(row.id for row in rows.collect())))
        if batch_id == 1:
            raise RuntimeError("the driver dies before this batch is committed")

    frame = reader(spark, orders, stream=True, subscribe="orders", startingOffsets="earliest")
    typed = frame.options(maxOffsetsPerTrigger="6", **TYPED).load()
    assert typed.columns == ["id", "tags", "_key", "_offset"]
    with pytest.raises(PySparkException, match="the driver dies"):
        run_all(typed, tmp_path, note)
    first, failed = seen
    seen.clear()
    run_all(
        typed,
        tmp_path,
        lambda rows, batch: seen.append((batch, sorted(r.id for r in rows.collect()))),
    )
    assert seen[0] == failed, "the same batch again"
    assert sorted(first[1] + [each for _, ids in seen for each in ids]) == list(range(9))
    letters = orders.topic("orders.dead").records(value_format="bytes")
    assert {each.value for each in letters} == {b"garbage"}


def test_lag_shows_in_the_progress(spark: SparkSession, orders: Broker, tmp_path: Path) -> None:
    frame = reader(
        spark,
        orders,
        stream=True,
        subscribe="orders",
        startingOffsets="earliest",
        maxOffsetsPerTrigger="4",
    ).load()
    query = (
        frame.writeStream.format("noop")
        .option("checkpointLocation", str(tmp_path))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    progress = [each.sources[0] for each in query.recentProgress]
    assert sum(each.numInputRows for each in progress) == 10
    assert '"0": 5, "1": 5' in progress[0].latestOffset
    assert '"0": 2, "1": 2' in progress[0].endOffset


def test_a_topic_deleted_under_a_running_query_is_one_sentence(
    spark: SparkSession, orders: Broker, tmp_path: Path
) -> None:
    frame = reader(spark, orders, stream=True, subscribe="orders").load()
    query = frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).start()
    try:
        query.processAllAvailable()
        delete_topic(orders.bootstrap, "orders")
        with pytest.raises(PySparkException) as raised:
            query.awaitTermination(60)
    finally:
        query.stop()
    assert sentence(raised.value).startswith("topic 'orders' does not exist")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"subscribe": "nothing"}, "topic 'nothing' does not exist"),
        (
            {"subscribe": "orders", "startingOfsets": "earliest"},
            "there is no option 'startingofsets'",
        ),
        ({"subscribe": "orders", "valueFormat": "json"}, "values in json have no schema yet"),
        (
            {"subscribe": "orders", "valueSchema": "id INT, x VARCHAR(3)"},
            "a column of type VARCHAR(3) cannot be read from JSON (hint: declare it as STRING)",
        ),
        (
            {"subscribe": "orders", "valueSchema": "id INT, x VARIANT"},
            "column 'x' of type VARIANT cannot be read from JSON (hint: declare it as STRING)",
        ),
    ],
)
def test_mistakes_are_one_sentence(
    spark: SparkSession, orders: Broker, options: dict[str, str], said: str
) -> None:
    with pytest.raises(PySparkException) as raised:
        reader(spark, orders, **options).load().collect()
    assert sentence(raised.value).startswith(said)


def test_the_broker_of_the_folder_is_the_default(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python workers of Spark run in the folder and the environment of the driver."""
    monkeypatch.delenv("HEADWATER_BOOTSTRAP", raising=False)
    with pytest.raises(PySparkException) as raised:
        spark.read.format("headwater").option("subscribe", "orders").load().collect()
    assert "localhost:9092" in sentence(raised.value)
