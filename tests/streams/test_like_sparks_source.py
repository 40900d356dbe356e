"""Our source beside Spark's Kafka source, on one broker: the same options, the same rows and offsets."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Producer
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from bulk.reading import produce
from headwater.testing import Broker
from rigs.process import Unavailable
from rigs.spark_connector import connector_jars

pytestmark = pytest.mark.long

START_MS = 1_700_000_000_000
ORDERS = {"subscribe": "orders"}
STREAM = ORDERS | {"startingOffsets": "earliest"}


REFUSALS = (PySparkException, Py4JJavaError)


class Seen(NamedTuple):
    """What a query gave; None for what it refused."""

    schema: str
    rows: list[str]
    offsets: list[Any]


def at(seconds: int) -> str:
    return str(START_MS + seconds * 1000)


def in_orders(*places: int) -> str:
    return json.dumps({"orders": {str(index): each for index, each in enumerate(places)}})


@pytest.fixture(scope="module")
def log(spark: SparkSession) -> Iterator[Broker]:
    try:
        for jar in connector_jars():
            spark.sql(f"ADD JAR '{jar}'")
    except Unavailable as reason:
        pytest.skip(f"Spark's Kafka connector is not here: {reason}")
    with Broker() as broker:
        broker.create_topic("orders", partitions=3, retention_ms=-1)
        broker.create_topic("orders-old", retention_ms=-1)
        broker.create_topic("stamped", retention_ms=-1, message_timestamp_type="LogAppendTime")
        broker.create_topic("empty", partitions=2)
        records = [
            {
                "key": None if number % 5 == 0 else b"key %d" % number,
                "value": None if number % 7 == 0 else b"value %d" % number,
                "partition": number % 3,
                "timestamp": START_MS + number * 1000,
                "headers": [("a", b"1"), ("none", None), ("a", b"")] if number % 4 == 0 else [],
            }
            for number in range(90)
        ]
        produce(broker.bootstrap, "orders", records)
        produce(broker.bootstrap, "orders", records[2::3], **{"compression.type": "zstd"})
        produce(broker.bootstrap, "stamped", [{"value": b"%d" % each} for each in range(3)])
        in_transactions(broker)
        yield broker


def in_transactions(broker: Broker) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "writer"})
    producer.init_transactions()
    for number in range(4):
        producer.begin_transaction()
        producer.produce("orders-old", b"%d" % number, timestamp=START_MS)
        producer.commit_transaction() if number % 2 else producer.abort_transaction()


def table(spark: SparkSession, kind: str, log: Broker, options: dict[str, str]) -> Seen | None:
    reader = spark.read.format(kind).option("kafka.bootstrap.servers", log.bootstrap)
    try:
        # Ours reads what is committed unless it is told otherwise, theirs everything.
        frame = reader.options(**{"kafka.isolation.level": "read_committed"} | options).load()
        rows = frame.collect()
    except REFUSALS:
        return None
    return Seen(frame.schema.json(), sorted(map(repr, rows)), [])


def stream(
    spark: SparkSession, kind: str, log: Broker, options: dict[str, str], checkpoint: Path
) -> Seen | None:
    reader = spark.readStream.format(kind).option("kafka.bootstrap.servers", log.bootstrap)
    name = f"from_{kind}"
    try:
        frame = reader.options(**{"kafka.isolation.level": "read_committed"} | options).load()
        query = (
            frame.writeStream.format("memory")
            .queryName(name)
            .option("checkpointLocation", str(checkpoint / kind))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    except REFUSALS:
        return None
    offsets = [
        in_partitions(each.sources[0].endOffset)
        for each in query.recentProgress
        if each.numInputRows
    ]
    return Seen(frame.schema.json(), sorted(map(repr, spark.table(name).collect())), offsets)


def in_partitions(offsets: str) -> dict[str, Any]:
    """As Spark's source reads them: the ids of topics, which ours adds, have no partitions."""
    return {topic: each for topic, each in json.loads(offsets).items() if each}


TABLES = [
    ORDERS,
    {"subscribe": " orders , orders-old "},
    {"subscribePattern": "rder"},
    {"subscribePattern": "^orders$|stamped"},
    {"subscribePattern": ".*"},
    {"subscribePattern": "nothing"},
    {"assign": '{"orders":[0,2],"orders-old":[0]}'},
    {"assign": '{"orders":0}'},
    {"assign": "[]"},
    {"subscribe": "missing"},
    {"subscribe": ""},
    {},
    ORDERS | {"assign": '{"orders":[0]}'},
    {"subscribe": "empty"},
    {"subscribe": "orders-old", "kafka.isolation.level": "read_uncommitted"},
    ORDERS | {"includeHeaders": "TRUE"},
    ORDERS | {"includeHeaders": "yes"},
    ORDERS | {"startingOffsets": " earliest"},
    ORDERS | {"startingOffsets": "latest"},
    ORDERS | {"startingOffsets": in_orders(5, -2, 50)},
    ORDERS | {"startingOffsets": in_orders(5)},
    ORDERS | {"startingOffsets": in_orders(5, 0, 0, 0)},
    ORDERS | {"startingOffsets": in_orders(-1, -1, -1)},
    ORDERS | {"startingOffsets": in_orders(-3, 0, 0)},
    ORDERS | {"startingOffsets": in_orders(1000, 0, 0)},
    ORDERS | {"startingOffsets": in_orders(30, 30, 60)},
    ORDERS | {"startingOffsets": "soon"},
    ORDERS | {"endingOffsets": in_orders(5, -1, 50)},
    ORDERS | {"endingOffsets": "earliest"},
    ORDERS | {"endingOffsets": in_orders(-2, -1, -1)},
    ORDERS | {"startingOffsets": in_orders(9, 9, 9), "endingOffsets": in_orders(8, 9, 10)},
    ORDERS | {"startingTimestamp": at(45)},
    ORDERS | {"startingTimestamp": str(START_MS + 44_500), "endingTimestamp": at(50)},
    ORDERS | {"startingTimestamp": at(10**6)},
    ORDERS | {"startingTimestamp": at(10**6), "startingOffsetsByTimestampStrategy": "latest"},
    ORDERS | {"startingTimestamp": "soon"},
    ORDERS | {"startingTimestamp": at(20), "startingOffsets": in_orders(0, 0, 0)},
    ORDERS | {"endingTimestamp": at(-5)},
    ORDERS | {"endingTimestamp": at(10**6)},
    ORDERS | {"startingOffsetsByTimestamp": in_orders(int(at(9)), int(at(50)), int(at(0)))},
    ORDERS | {"endingOffsetsByTimestamp": in_orders(int(at(9)), int(at(50)), int(at(999)))},
    ORDERS | {"startingOffsetsByTimestamp": in_orders(int(at(9)))},
    ORDERS | {"minPartitions": "8"},
    ORDERS | {"minPartitions": "0"},
    ORDERS | {"maxRecordsPerPartition": "7"},
    ORDERS | {"failOnDataLoss": "maybe"},
    ORDERS | {"kafka.group.id": "mine", "groupIdPrefix": "my", "kafka.max.poll.records": "3"},
    ORDERS | {"kafka.auto.offset.reset": "earliest"},
    ORDERS | {"kafka.value.deserializer": "some.Class"},
]


@pytest.mark.parametrize("options", TABLES, ids=str)
def test_a_table_is_the_same(spark: SparkSession, log: Broker, options: dict[str, str]) -> None:
    assert table(spark, "headwater", log, options) == table(spark, "kafka", log, options)


def test_times_of_the_broker_are_told_apart(spark: SparkSession, log: Broker) -> None:
    ours = table(spark, "headwater", log, {"subscribe": "stamped"})
    assert ours == table(spark, "kafka", log, {"subscribe": "stamped"})
    assert ours is not None
    assert all("timestampType=1" in each for each in ours.rows)


STREAMS = [
    STREAM,
    STREAM | {"maxOffsetsPerTrigger": "33"},
    STREAM | {"maxOffsetsPerTrigger": "70", "minPartitions": "5"},
    STREAM | {"minOffsetsPerTrigger": "50", "maxOffsetsPerTrigger": "20"},
    STREAM | {"endingOffsets": "latest"},
    {"subscribePattern": "rder", "startingOffsets": "earliest"},
    {"assign": '{"orders":[1]}', "startingOffsets": "earliest"},
    {"subscribe": "missing"},
    ORDERS,
    ORDERS | {"startingOffsets": in_orders(5)},
    ORDERS | {"startingTimestamp": at(10**6)},
]


@pytest.mark.parametrize("options", STREAMS, ids=str)
def test_a_stream_is_the_same(
    spark: SparkSession, log: Broker, options: dict[str, str], tmp_path: Path
) -> None:
    ours = stream(spark, "headwater", log, options, tmp_path)
    assert ours == stream(spark, "kafka", log, options, tmp_path)


@pytest.mark.parametrize("first", [0, 3], ids="from {}".format)
@pytest.mark.parametrize("kinds", [("headwater", "kafka"), ("kafka", "headwater")], ids=str)
def test_a_query_goes_on_where_the_other_source_has_ended(
    spark: SparkSession, log: Broker, kinds: tuple[str, str], first: int, tmp_path: Path
) -> None:
    log.create_topic(topic := f"moved-from-{kinds[0]}-{first}", retention_ms=-1)
    produce(log.bootstrap, topic, [{"value": b"before"}] * first)
    for number, kind in enumerate(kinds, first):
        produce(log.bootstrap, topic, [{"value": b"%d" % number}])
        query = (
            spark.readStream.format(kind)
            .option("kafka.bootstrap.servers", log.bootstrap)
            .options(subscribe=topic, startingOffsets=json.dumps({topic: {"0": first}}))
            .load()
            .writeStream.format("noop")
            .option("checkpointLocation", str(tmp_path))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        (progress,) = [each for each in query.recentProgress if each.numInputRows]
        assert progress.numInputRows == 1
        assert in_partitions(progress.sources[0].endOffset) == {topic: {"0": number + 1}}
