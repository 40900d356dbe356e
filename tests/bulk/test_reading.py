"""Topics written by a real client come back as Arrow, from our broker and from Apache Kafka."""

from datetime import UTC, datetime

import pytest
from confluent_kafka import Producer

from bulk.reading import delete_before, produce, read_all, values, whole
from conformance.calls import eventually
from headwater.bulk.cluster import EARLIEST, LATEST, NO_OFFSET, Cluster
from headwater.bulk.decode import decode
from headwater.bulk.fetcher import fetch_range
from headwater.bulk.ranges import Isolation, OffsetRange, TopicPartition
from headwater.bulk.reader import BulkReader
from headwater.errors import NotFound, OffsetOutOfRange

TIME_MS = 1_700_000_000_123


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_field_comes_back(bootstrap: str, cluster: Cluster, topic: str, codec: str) -> None:
    headers = [("trace", b"1"), ("trace", None), ("", b"")]
    written = [
        {"key": b"k", "value": b"v" * 200, "headers": headers},
        {"key": None, "value": None},
        {"key": b"", "value": b""},
    ]
    stamped = [{"timestamp": TIME_MS, **each} for each in written]
    produce(bootstrap, topic, stamped, **{"compression.codec": codec})
    rows = read_all(BulkReader(cluster, with_headers=True), whole(cluster, topic))
    assert rows == [
        {
            "key": each["key"],
            "value": each["value"],
            "topic": topic,
            "partition": 0,
            "offset": offset,
            "timestamp": datetime.fromtimestamp(TIME_MS / 1000, UTC),
            "timestampType": 0,
            "headers": [{"key": name, "value": value} for name, value in headers]
            if "headers" in each
            else None,
        }
        for offset, each in enumerate(written)
    ]


def test_the_brokers_time_is_told_apart(bootstrap: str, cluster: Cluster, new_topic) -> None:
    topic = new_topic(**{"message.timestamp.type": "LogAppendTime"})
    produce(bootstrap, topic, [{"value": b"v", "timestamp": 5}])
    (row,) = read_all(BulkReader(cluster), whole(cluster, topic))
    assert row["timestampType"] == 1
    assert row["timestamp"].year > 2000


@pytest.mark.parametrize("fetch_bytes", [1, 5000, 1 << 20])
def test_answers_of_any_size_make_the_same_rows(
    bootstrap: str, cluster: Cluster, topic: str, fetch_bytes: int
) -> None:
    written = [{"value": b"%05d" % number} for number in range(2000)]
    produce(bootstrap, topic, written, **{"batch.num.messages": 100})
    wanted = OffsetRange(topic, 0, 3, 1995)
    found = [
        value
        for batches in fetch_range(cluster, wanted, Isolation.READ_COMMITTED, fetch_bytes)
        for decoded in decode(batches, wanted)
        for value in decoded["value"].to_pylist()
    ]
    assert found == [b"%05d" % number for number in range(3, 1995)]


def test_a_range_of_a_compacted_topic_has_gaps(bootstrap: str, cluster: Cluster, new_topic) -> None:
    topic = new_topic(
        **{
            "cleanup.policy": "compact",
            "segment.ms": "100",
            "min.cleanable.dirty.ratio": "0.01",
            "message.timestamp.before.max.ms": str(2**62),
        }
    )
    for rounds in range(1, 500):
        time_ms = TIME_MS + 1000 * rounds  # a new segment each time: only old ones are compacted
        records = [{"key": b"%d" % at, "value": b"v", "timestamp": time_ms} for at in range(3)]
        produce(bootstrap, topic, records)
        wanted = whole(cluster, topic)
        rows = read_all(BulkReader(cluster), wanted)
        if len(rows) < wanted.size:
            break
    offsets = [each["offset"] for each in rows]
    assert len(offsets) < wanted.size
    assert offsets == sorted(set(offsets))
    assert offsets[-3:] == list(range(wanted.end - 3, wanted.end))


def test_an_abandoned_read_leaves_no_answer_to_the_next_reader(
    bootstrap: str, cluster: Cluster, topic: str
) -> None:
    produce(bootstrap, topic, [{"value": bytes(1000)}] * 100, **{"batch.num.messages": 10})
    wanted = whole(cluster, topic)
    reading = fetch_range(cluster, wanted, Isolation.READ_COMMITTED, fetch_bytes=1)
    assert next(reading).next_offset < 100
    reading.close()
    assert cluster._offsets({wanted.topic_partition: LATEST}, Isolation.READ_COMMITTED) == {
        wanted.topic_partition: 100
    }


def test_offsets_by_time(bootstrap: str, cluster: Cluster, topic: str) -> None:
    produce(bootstrap, topic, [{"value": b"v", "timestamp": 1000 + at} for at in range(10)])
    partition = TopicPartition(topic, 0)
    assert cluster.offsets({partition: 1004})[partition] == 4
    assert cluster.offsets({partition: 2000})[partition] == NO_OFFSET
    assert cluster.offsets({partition: EARLIEST})[partition] == 0
    assert cluster.offsets({partition: LATEST})[partition] == 10


def test_a_deleted_stretch_is_out_of_range(bootstrap: str, cluster: Cluster, topic: str) -> None:
    produce(bootstrap, topic, [{"value": b"v"}] * 10)
    delete_before(bootstrap, topic, 5)
    with pytest.raises(OffsetOutOfRange, match=f"{topic}-0"):
        values(BulkReader(cluster), OffsetRange(topic, 0, 0, 10))


def test_unknown_topics_are_not_made_by_asking(cluster: Cluster) -> None:
    assert cluster.topics(["no-such-topic"]) == {}
    with Cluster(cluster._endpoints, timeout_s=2) as hasty:
        for asked in (TopicPartition("no-such-topic", 0), TopicPartition("no-such-topic", 7)):
            with pytest.raises(NotFound, match="does not exist"):
                hasty.offsets({asked: LATEST})
    assert "no-such-topic" not in cluster.topics()


class TestTransactions:
    @pytest.fixture
    def producer(self, bootstrap: str, topic: str) -> Producer:
        producer = Producer(
            {"bootstrap.servers": bootstrap, "log_level": 0, "transactional.id": topic}
        )
        producer.init_transactions(30)
        return producer

    def test_only_what_was_committed_is_read(
        self, cluster: Cluster, topic: str, producer: Producer
    ) -> None:
        for number in range(6):
            producer.begin_transaction()
            for part in range(3):
                producer.produce(topic, b"%d-%d" % (number, part), partition=0)
            producer.flush(30)
            if number % 2:
                producer.abort_transaction(30)
            else:
                producer.commit_transaction(30)
        eventually(lambda: whole(cluster, topic).end == 24)
        committed = values(BulkReader(cluster), whole(cluster, topic))
        assert committed == [b"%d-%d" % (number, part) for number in (0, 2, 4) for part in range(3)]
        everything = BulkReader(cluster, Isolation.READ_UNCOMMITTED)
        assert len(values(everything, whole(cluster, topic))) == 18

    def test_an_open_transaction_holds_the_end_back(
        self, bootstrap: str, cluster: Cluster, topic: str, producer: Producer
    ) -> None:
        producer.begin_transaction()
        producer.produce(topic, b"open", partition=0)
        producer.flush(30)
        produce(bootstrap, topic, [{"value": b"plain"}])
        assert whole(cluster, topic).end == 0
        assert whole(cluster, topic, isolation=Isolation.READ_UNCOMMITTED).end == 2
        producer.commit_transaction(30)
        eventually(lambda: whole(cluster, topic).end == 3)  # the marker follows the answer
        assert values(BulkReader(cluster), whole(cluster, topic)) == [b"open", b"plain"]
