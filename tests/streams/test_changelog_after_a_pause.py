"""A query with a changelog has stood still: what its topic has forgotten meanwhile is not in the table."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql.types import LongType, StringType, StructField, StructType

from bulk.reading import delete_before, produce
from headwater.streams.changelog.pins import Pins
from headwater.streams.changelog.reader import ChangelogReader
from headwater.streams.changelog.snapshots import Snapshots
from headwater.streams.source.options import SourceOptions
from headwater.testing import Broker, SettableClock

DAY_S = 86_400.0
SCHEMA = StructType([StructField("id", LongType()), StructField("name", StringType())])


class Query:
    """The static side of a query, as Spark's tasks read it, on a clock that is moved by hand."""

    def __init__(self, folder: Path) -> None:
        self.clock = SettableClock()
        self.broker = Broker(clock=self.clock)
        self._folder = folder
        self._batch = 0

    def put(self, *changes: tuple[int, str | None]) -> None:
        produce(
            self.broker.bootstrap,
            "customers",
            [
                {
                    "key": b"%d" % key,
                    "value": name and json.dumps({"id": key, "name": name}).encode(),
                }
                for key, name in changes
            ],
        )

    def next_batch(self) -> dict[int, str]:
        offsets = self._folder / "checkpoint" / "offsets"
        offsets.mkdir(parents=True, exist_ok=True)
        (offsets / str(self._batch)).write_text("v1")
        self._batch += 1
        options = SourceOptions.of(
            {
                "kafka.bootstrap.servers": self.broker.bootstrap,
                "subscribe": "customers",
                "valueSchema": "id LONG, name STRING",
                "valueFormat": "json",
            },
            is_stream=False,
        )
        pins = Pins(self._folder / "pins", self._folder / "checkpoint")
        snapshots = Snapshots(self._folder / "rows")
        reader = ChangelogReader(options, SCHEMA, pins, snapshots, self.clock)
        return {
            row["id"]: row["name"]
            for part in reader.partitions()
            for batch in reader.read(part)
            for row in batch.to_pylist()
        }


@pytest.fixture
def query(tmp_path: Path) -> Iterator[Query]:
    query = Query(tmp_path)
    with query.broker:
        yield query


def compacted(query: Query) -> None:
    query.broker.create_topic(
        "customers",
        cleanup_policy="compact,delete",
        retention_ms=-1,
        message_timestamp_type="LogAppendTime",
        segment_ms=3_600_000,
        delete_retention_ms=86_400_000,
        min_cleanable_dirty_ratio="0.01",
        max_compaction_lag_ms=3_600_000,
    )


def test_a_row_whose_deletion_was_compacted_away_is_not_kept(query: Query) -> None:
    compacted(query)
    query.put((1, "Ada"), (2, "Bob"))
    assert query.next_batch() == {1: "Ada", 2: "Bob"}
    query.put((1, None))
    for number in range(12):
        query.clock.advance(seconds=DAY_S / 2)
        query.put((2, f"Bob {number}"))
    keys = {each.key for each in query.broker.topic("customers").records()}
    assert keys == {"2"}, "the deletion is still there: nothing is tested"
    assert query.next_batch() == {2: "Bob 11"}


def test_a_row_whose_deletion_was_trimmed_away_is_not_kept(query: Query) -> None:
    query.broker.create_topic("customers", retention_ms=-1)
    query.put((1, "Ada"), (2, "Bob"))
    assert query.next_batch() == {1: "Ada", 2: "Bob"}
    query.put((1, None), (2, "Bob"), (3, "Cid"))
    delete_before(query.broker.bootstrap, "customers", 3)
    assert query.next_batch() == {2: "Bob", 3: "Cid"}


def test_a_topic_that_is_seen_to_rest_is_not_read_anew(query: Query) -> None:
    """A batch that finds nothing new has seen that no deletion was missed until then."""
    compacted(query)
    query.put((1, "Ada"))
    query.next_batch()
    for _ in range(4):
        query.clock.advance(seconds=DAY_S / 2)
        assert query.next_batch() == {1: "Ada"}
    trim_what_was_seen(query)
    query.put((2, "Bob"))
    assert query.next_batch() == {1: "Ada", 2: "Bob"}, "it was read anew"


def test_a_topic_that_only_expires_is_not_read_anew_for_its_deletions(query: Query) -> None:
    """It forgets from its beginning on, so no deletion before what the snapshot has not seen."""
    query.broker.create_topic("customers", retention_ms=-1)
    query.put((1, "Ada"))
    query.next_batch()
    trim_what_was_seen(query)
    query.clock.advance(seconds=7 * DAY_S)
    query.put((2, "Bob"))
    assert query.next_batch() == {1: "Ada", 2: "Bob"}, "it was read anew"


def trim_what_was_seen(query: Query) -> None:
    """Who reads the topic anew finds none of it, who goes on from the snapshot misses nothing."""
    delete_before(query.broker.bootstrap, "customers", 1)
