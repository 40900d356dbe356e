"""A changelog as a table: the last row of each key, the same again when a batch is repeated."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import headwater
from headwater.streams.changelog.pins import Pin, Pins
from headwater.streams.changelog.snapshots import DELETED, KEY, Snapshot, Snapshots, collapse
from headwater.testing import Broker

TOPIC = "customers"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "checkpoint" / "offsets").mkdir(parents=True)
    return tmp_path


def table(spark: SparkSession, broker: Broker, folder: Path, **options: str) -> DataFrame:
    return (
        spark.read.format("headwater-changelog")
        .option("kafka.bootstrap.servers", broker.bootstrap)
        .option("subscribe", TOPIC)
        .option("valueFormat", "json")
        .option("valueSchema", "id LONG, name STRING")
        .option("checkpoint", str(folder / "checkpoint"))
        .option("folder", str(folder / "table"))
        .options(**options)
        .load()
    )


def rows(frame: DataFrame) -> dict[int, str]:
    return {row.id: row.name for row in frame.collect()}


def put(broker: Broker, changes: dict[int, str | None]) -> None:
    with headwater.connect(broker.bootstrap) as client, client.producer() as producer:
        for key, name in changes.items():
            value = None if name is None else {"id": key, "name": name}
            producer.send(TOPIC, value, key=str(key))


def make_anew(broker: Broker) -> None:
    with headwater.connect(broker.bootstrap) as client:
        client.admin.topics.delete(TOPIC)
    broker.create_topic(TOPIC, partitions=1)


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


def test_a_schema_that_grows_is_read_anew(
    spark: SparkSession, broker: Broker, folder: Path
) -> None:
    broker.create_topic(TOPIC, partitions=1)
    put(broker, {1: "Ada", 2: "Bob"})
    put(broker, {2: None})
    plan_batch(folder, 0)
    assert rows(table(spark, broker, folder)) == {1: "Ada"}
    grown = table(spark, broker, folder, valueSchema="id LONG, name STRING, city STRING")
    assert [tuple(row) for row in grown.collect()] == [(1, "Ada", None)]
    plan_batch(folder, 1)
    put(broker, {3: "Cid"})
    grown = table(spark, broker, folder, valueSchema="id LONG, name STRING, city STRING")
    assert rows(grown) == {1: "Ada", 3: "Cid"}


def test_a_deletion_counts_also_where_a_column_is_never_null(
    spark: SparkSession, broker: Broker, folder: Path
) -> None:
    broker.create_topic(TOPIC, partitions=1)
    put(broker, {1: "Ada", 2: "Bob", 3: "Cid"})
    put(broker, {1: None, 3: None})
    put(broker, {3: "Eve"})
    never_null = "id LONG NOT NULL, name STRING NOT NULL"
    assert rows(table(spark, broker, folder, valueSchema=never_null)) == {2: "Bob", 3: "Eve"}
    with headwater.connect(broker.bootstrap) as client:
        assert f"{TOPIC}.dead" not in client.admin.topics.names()


def test_a_value_that_cannot_be_read_is_a_dead_letter_and_leaves_the_row_as_it_was(
    spark: SparkSession, broker: Broker, folder: Path
) -> None:
    broker.create_topic(TOPIC, partitions=1)
    put(broker, {1: "Ada"})
    with headwater.connect(broker.bootstrap) as client:
        client.send(TOPIC, "not an object", key="1")
    assert rows(table(spark, broker, folder)) == {1: "Ada"}
    assert len(broker.topic(f"{TOPIC}.dead").records()) == 1


def test_a_topic_made_anew_under_a_query_is_not_mixed_with_the_old_one(
    spark: SparkSession, broker: Broker, folder: Path
) -> None:
    """The new one has grown past where the old one was read: offsets alone do not tell."""
    broker.create_topic(TOPIC, partitions=1)
    put(broker, {1: "Ada", 2: "Bob"})
    customers = table(spark, broker, folder)
    plan_batch(folder, 0)
    assert rows(customers) == {1: "Ada", 2: "Bob"}
    make_anew(broker)
    put(broker, {3: "Cid", 4: "Dan", 5: "Eve"})
    plan_batch(folder, 1)
    with pytest.raises(Exception, match="'customers' was deleted and made again while it was read"):
        customers.collect()
    assert not (folder / "table" / "pins" / "1.json").exists(), "the next try would take it"


def test_a_topic_made_anew_that_may_be_is_read_from_its_beginning(
    spark: SparkSession, broker: Broker, folder: Path
) -> None:
    broker.create_topic(TOPIC, partitions=1)
    put(broker, {1: "Ada", 2: "Bob"})
    customers = table(spark, broker, folder, failOnDataLoss="false")
    plan_batch(folder, 0)
    assert rows(customers) == {1: "Ada", 2: "Bob"}
    make_anew(broker)
    put(broker, {3: "Cid", 4: "Dan", 5: "Eve"})
    assert rows(customers) == {1: "Ada", 2: "Bob"}, "a repeated batch sees another table"
    plan_batch(folder, 1)
    assert rows(customers) == {3: "Cid", 4: "Dan", 5: "Eve"}
    assert len(list((folder / "table" / "rows").iterdir())) == 1, "the old rows are kept for good"


def test_partitions_that_a_topic_gets_under_a_query_are_read(
    spark: SparkSession, broker: Broker, folder: Path
) -> None:
    broker.create_topic(TOPIC, partitions=2)
    put(broker, {0: "Zoe"})
    customers = table(spark, broker, folder)
    plan_batch(folder, 0)
    assert rows(customers) == {0: "Zoe"}
    with headwater.connect(broker.bootstrap) as client:
        client.admin.topics.add_partitions(TOPIC, total=5)
    more = {number: f"n{number}" for number in range(1, 9)}
    put(broker, more)
    assert rows(customers) == {0: "Zoe"}, "a repeated batch sees another table"
    plan_batch(folder, 1)
    assert rows(customers) == {0: "Zoe", **more}


def test_pins_and_rows_of_earlier_versions_are_taken_on(
    spark: SparkSession, broker: Broker, folder: Path
) -> None:
    broker.create_topic(TOPIC, partitions=1)
    put(broker, {1: "Ada"})
    plan_batch(folder, 0)
    assert rows(table(spark, broker, folder)) == {1: "Ada"}
    pin = folder / "table" / "pins" / "0.json"
    pin.write_text(json.dumps(json.loads(pin.read_text())["ends"]))
    (snapshot,) = (folder / "table" / "rows").glob("*/0-1.arrow")
    snapshot.rename(folder / "table" / "rows" / "0-1.arrow")
    snapshot.parent.rmdir()
    with headwater.connect(broker.bootstrap) as client:
        client.admin.topics.trim(client.admin.topics.plan_trim(TOPIC, before="end"))
    assert rows(table(spark, broker, folder)) == {1: "Ada"}
    plan_batch(folder, 1)
    put(broker, {2: "Bob"})
    assert rows(table(spark, broker, folder)) == {1: "Ada", 2: "Bob"}


def test_rows_under_the_names_of_earlier_versions_are_taken_on(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path)
    now = pa.table({"n": [1], KEY: [b"a"], DELETED: [False]})
    snapshots.keep(0, Snapshot(5, 0, now.rename_columns(["n", "_key", "_deleted"])))
    found = Snapshots(tmp_path, now.schema).at(0, 5)
    assert found is not None
    assert found.rows == now


def test_pins_of_old_batches_are_forgotten(folder: Path) -> None:
    pins = Pins(folder / "pins", folder / "checkpoint")
    for number in (0, 1, 150):
        plan_batch(folder, number)
        pin = Pin("topic", {0: number})
        assert pins.of_this_batch(lambda pin=pin: pin) == pin
    assert [each.name for each in (folder / "pins").iterdir()] == ["150.json"]


def test_snapshots_keep_the_newest(tmp_path: Path) -> None:
    snapshots = Snapshots(tmp_path)
    for end in (5, 10, 15, 20):
        snapshots.keep(0, Snapshot(end, 0, changes([(b"a", end, False)])))
    assert snapshots.at(0, 5) is None
    newest = snapshots.before(0, 20)
    assert newest is not None
    assert newest.end == 15
    assert snapshots.before(1, 20) is None


def test_the_last_change_of_a_key_wins_and_a_deletion_leaves_nothing() -> None:
    found = collapse(
        changes([(b"a", 1, False), (b"b", 2, False), (b"a", 3, False), (b"b", 4, True)])
    )
    assert found["n"].to_pylist() == [3]


def changes(rows: list[tuple[bytes, int, bool]]) -> pa.Table:
    keys, numbers, deleted = zip(*rows, strict=True)
    return pa.table({KEY: list(keys), "n": list(numbers), DELETED: list(deleted)})
