"""A changelog as a table: the last row of each key, the same again when a batch is repeated."""

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import headwater
from headwater.streams.changelog.pins import Pins
from headwater.streams.changelog.snapshots import DELETED, KEY, Snapshots, collapse
from headwater.testing import Broker

TOPIC = "customers"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "checkpoint" / "offsets").mkdir(parents=True)
    return tmp_path


def table(spark: SparkSession, broker: Broker, folder: Path) -> DataFrame:
    return (
        spark.read.format("headwater-changelog")
        .option("kafka.bootstrap.servers", broker.bootstrap)
        .option("subscribe", TOPIC)
        .option("valueFormat", "json")
        .option("valueSchema", "id LONG, name STRING")
        .option("checkpoint", str(folder / "checkpoint"))
        .option("folder", str(folder / "table"))
        .load()
    )


def rows(frame: DataFrame) -> dict[int, str]:
    return {row.id: row.name for row in frame.collect()}


def put(broker: Broker, changes: dict[int, str | None]) -> None:
    with headwater.connect(broker.bootstrap) as client, client.producer() as producer:
        for key, name in changes.items():
            value = None if name is None else {"id": key, "name": name}
            producer.send(TOPIC, value, key=str(key))


def plan_batch(folder: Path, number: int) -> None:
    """What Spark does before it runs a batch."""
    (folder / "checkpoint" / "offsets" / str(number)).write_text("v1")


def test_a_batch_sees_the_last_row_of_each_key_and_sees_it_again(
    spark: SparkSession, broker: Broker, folder: Path
) -> None:
    broker.create_topic(TOPIC, partitions=2)
    put(broker, {1: "Ada", 2: "Bob", 3: "Cid"})
    put(broker, {1: "Eve", 2: None})
    plan_batch(folder, 0)
    assert rows(table(spark, broker, folder)) == {1: "Eve", 3: "Cid"}
    put(broker, {2: "Dan", 3: None, 4: "Fay"})
    again = rows(table(spark, broker, folder))
    assert again == {1: "Eve", 3: "Cid"}, "a repeated batch sees another table"
    plan_batch(folder, 1)
    assert rows(table(spark, broker, folder)) == {1: "Eve", 2: "Dan", 4: "Fay"}


def test_a_repeated_batch_does_not_depend_on_what_the_topic_still_has(
    spark: SparkSession, broker: Broker, folder: Path
) -> None:
    """Compaction and trimming remove what a newer record replaces; the batch may need it again."""
    broker.create_topic(TOPIC, partitions=1)
    put(broker, {1: "Ada"})
    plan_batch(folder, 0)
    assert rows(table(spark, broker, folder)) == {1: "Ada"}
    with headwater.connect(broker.bootstrap) as client:
        client.admin.topics.trim(client.admin.topics.plan_trim(TOPIC, before="end"))
    assert rows(table(spark, broker, folder)) == {1: "Ada"}
    plan_batch(folder, 1)
    kept = rows(table(spark, broker, folder))
    assert kept == {1: "Ada"}, "a row whose record was trimmed away is still the last one"


def test_an_empty_topic_is_an_empty_table(
    spark: SparkSession, broker: Broker, folder: Path
) -> None:
    broker.create_topic(TOPIC, partitions=1)
    assert rows(table(spark, broker, folder)) == {}


def test_a_value_that_cannot_be_read_is_a_dead_letter_and_leaves_the_row_as_it_was(
    spark: SparkSession, broker: Broker, folder: Path
) -> None:
    broker.create_topic(TOPIC, partitions=1)
    put(broker, {1: "Ada"})
    with headwater.connect(broker.bootstrap) as client:
        client.send(TOPIC, "not an object", key="1")
    assert rows(table(spark, broker, folder)) == {1: "Ada"}
    assert len(broker.topic(f"{TOPIC}.dead").records()) == 1


def test_pins_of_old_batches_are_forgotten(folder: Path) -> None:
    pins = Pins(folder / "pins", folder / "checkpoint")
    for number in (0, 1, 150):
        plan_batch(folder, number)
        assert pins.ends(lambda number=number: {0: number}) == {0: number}
    assert [each.name for each in (folder / "pins").iterdir()] == ["150.json"]


def test_snapshots_keep_the_newest(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path)
    for end in (5, 10, 15, 20):
        snapshots.keep(0, end, changes([(b"a", end, False)]))
    assert snapshots.at(0, 5) is None
    assert snapshots.before(0, 20)[0] == 15
    assert snapshots.before(1, 20) == (0, None)


def test_the_last_change_of_a_key_wins_and_a_deletion_leaves_nothing() -> None:
    found = collapse(
        changes([(b"a", 1, False), (b"b", 2, False), (b"a", 3, False), (b"b", 4, True)])
    )
    assert found["n"].to_pylist() == [3]


def changes(rows: list[tuple[bytes, int, bool]]) -> pa.Table:
    keys, numbers, deleted = zip(*rows, strict=True)
    return pa.table({KEY: list(keys), "n": list(numbers), DELETED: list(deleted)})
