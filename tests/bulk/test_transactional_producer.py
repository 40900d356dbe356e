"""Transactions over the protocol, on our broker and on Apache Kafka: answers lost, brokers killed."""

import random
import threading
import uuid
from copy import copy
from functools import partial

import pyarrow as pa
import pytest

from bulk.reading import values, whole
from bulk.relay import Relay
from bulk.test_outages import TOPIC, behind
from conformance.calls import eventually
from headwater.bulk import transactional_producer as module
from headwater.bulk.cluster import Cluster
from headwater.bulk.columns import HEADERS, TIMESTAMP
from headwater.bulk.group_offsets import Committed, committed_offsets
from headwater.bulk.ranges import Isolation, OffsetRange, TopicPartition
from headwater.bulk.reader import BulkReader
from headwater.bulk.transactional_producer import TransactionalProducer
from headwater.client import Client
from headwater.clock import SystemClock
from headwater.errors import Fenced, InvalidRequest, RecordTooLarge
from headwater.testing import Broker
from headwater.wire.compression import NAMES
from headwater.wire.messages.end_txn import EndTxnResponse
from headwater.wire.messages.produce import ProduceResponse

NOW_MS = SystemClock().now_ms()


def rows(*texts: bytes, partition: int | None = None) -> pa.RecordBatch:
    count = len(texts)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(texts),
            pa.nulls(count, pa.binary()),
            pa.array([partition] * count, pa.int32()),
            pa.nulls(count, HEADERS),
            pa.nulls(count, TIMESTAMP),
        ],
        names=["value", "key", "partition", "headers", "timestamp"],
    )


def producer_of(cluster: Cluster, name: str | None = None) -> TransactionalProducer:
    return TransactionalProducer(cluster, name or uuid.uuid4().hex, timeout_ms=60_000)


def read(cluster: Cluster, topic: str) -> list[bytes]:
    """What readers see once no transaction is open: Apache Kafka answers before it has written markers."""
    everything = partial(whole, cluster, topic, isolation=Isolation.READ_UNCOMMITTED)
    eventually(lambda: whole(cluster, topic) == everything())
    return values(BulkReader(cluster), whole(cluster, topic))


def test_what_is_committed_is_read_and_what_is_aborted_is_not(cluster: Cluster, topic: str) -> None:
    producer = producer_of(cluster)
    producer.write(topic, rows(b"a", b"b"), NOW_MS)
    producer.write(topic, rows(b"c"), NOW_MS)
    producer.flush()
    assert values(BulkReader(cluster), whole(cluster, topic)) == []
    producer.commit()
    assert read(cluster, topic) == [b"a", b"b", b"c"]
    producer.write(topic, rows(b"d"), NOW_MS)
    producer.abort()
    another = producer_of(cluster)
    another.write(topic, rows(b"e"), NOW_MS)
    another.commit()
    assert read(cluster, topic) == [b"a", b"b", b"c", b"e"]


def test_an_offset_is_committed_with_the_records(cluster: Cluster, topic: str) -> None:
    producer, group = producer_of(cluster), uuid.uuid4().hex
    place, committed = TopicPartition(topic, 0), Committed(42, "notes")
    producer.write(topic, rows(b"a"), NOW_MS)
    producer.commit_offset(group, place, committed)
    producer.commit()
    eventually(lambda: committed_offsets(cluster, group) == {place: committed})


def test_who_had_the_name_before_is_fenced(cluster: Cluster, topic: str) -> None:
    older = producer_of(cluster, "shared-" + topic)
    older.write(topic, rows(b"older"), NOW_MS)
    older.flush()
    with Cluster(cluster._endpoints) as another:
        newer = producer_of(another, "shared-" + topic)
        newer.write(topic, rows(b"newer"), NOW_MS)
        newer.commit()
    with pytest.raises(Fenced):
        older.commit()
    assert read(cluster, topic) == [b"newer"]


def test_many_batches_keep_the_order_of_each_partition(cluster: Cluster, new_topic) -> None:
    topic = new_topic(partitions=3)
    producer = producer_of(cluster)
    for number in range(12):
        texts = [b"%d-%d" % (number, at) + bytes(300_000) for at in range(3)]
        for partition in (2, 0):
            producer.write(topic, rows(*texts, partition=partition), NOW_MS)
    producer.commit()
    expected = [b"%d-%d" % (number, at) for number in range(12) for at in range(3)]
    for partition in (0, 2):
        read(cluster, topic)
        end = cluster.offsets({TopicPartition(topic, partition): -1})[
            TopicPartition(topic, partition)
        ]
        found = values(BulkReader(cluster), OffsetRange(topic, partition, 0, end))
        assert [each.rstrip(b"\0") for each in found] == expected


@pytest.mark.parametrize("codec", sorted(NAMES))
def test_a_batch_is_never_larger_than_its_topic_takes(
    cluster: Cluster, new_topic, codec: int
) -> None:
    """The smallest of topics still takes records one by one; what no codec makes smaller is the worst."""
    texts = [random.Random(each).randbytes(100) for each in range(500)]
    for limit in (200, 10_000):
        topic = new_topic(**{"max.message.bytes": str(limit)})
        producer = TransactionalProducer(cluster, uuid.uuid4().hex, 60_000, codec)
        producer.write(topic, rows(*texts), NOW_MS)
        producer.commit()
        assert read(cluster, topic) == texts


@pytest.mark.parametrize(
    ("topic_name", "given", "error", "said"),
    [
        (
            "a b",
            rows(b"x"),
            InvalidRequest,
            "cannot write to 'a b': that is not a valid topic name",
        ),
        (
            None,
            rows(b"x", partition=99),
            InvalidRequest,
            "cannot write to partition 99 of topic '.*': its number of partitions is 1 ",
        ),
        (None, rows(bytes(3_000_000)), RecordTooLarge, "larger than the topic's max"),
    ],
)
def test_mistakes_are_said_in_one_sentence(
    cluster: Cluster, topic: str, topic_name: str | None, given, error, said: str
) -> None:
    producer = producer_of(cluster)

    def write() -> None:
        producer.write(topic_name or topic, given, NOW_MS)
        producer.flush()

    with pytest.raises(error, match=said):
        write()
    producer.abort()
    another = producer_of(cluster)
    another.write(topic, rows(b"good"), NOW_MS)
    another.commit()
    assert read(cluster, topic) == [b"good"]


def test_a_partition_that_a_topic_got_meanwhile_is_written_to(
    cluster: Cluster, client: Client, topic: str
) -> None:
    producer = producer_of(cluster)
    producer.write(topic, rows(b"a", partition=0), NOW_MS)
    client.admin.topics.add_partitions(topic, total=3)
    producer.write(topic, rows(b"b", partition=2), NOW_MS)
    producer.commit()
    assert read(cluster, topic) == [b"a"]
    assert values(BulkReader(cluster), whole(cluster, topic, 2)) == [b"b"]


def test_a_lost_answer_does_not_double_records() -> None:
    with Relay() as relay, behind(relay), Cluster([("127.0.0.1", relay.port)]) as cluster:
        producer = producer_of(cluster)
        for number in range(20):
            if number % 3 == 1:
                relay.losses[ProduceResponse.api_key] = 1
            producer.write(TOPIC, rows(b"%d" % number, b"%d!" % number), NOW_MS)
        producer.commit()
        assert relay.losses[ProduceResponse.api_key] == 0
        assert read(cluster, TOPIC) == [
            text for number in range(20) for text in (b"%d" % number, b"%d!" % number)
        ]


def test_a_commit_that_was_sent_twice_cannot_end_a_later_transaction() -> None:
    with Relay() as relay, behind(relay), Cluster([("127.0.0.1", relay.port)]) as cluster:
        producer = producer_of(cluster)
        producer.write(TOPIC, rows(b"first"), NOW_MS)
        producer.flush()
        late = copy(producer)
        relay.losses[EndTxnResponse.api_key] = 1
        producer.commit()
        producer.write(TOPIC, rows(b"second"), NOW_MS)
        producer.flush()
        with pytest.raises(Fenced):
            late._end(is_commit=True)
        assert values(BulkReader(cluster), whole(cluster, TOPIC)) == [b"first"]
        producer.commit()
        assert read(cluster, TOPIC) == [b"first", b"second"]


def test_a_broker_killed_meanwhile_has_everything_once_when_it_is_back() -> None:
    with Broker() as broker, Cluster([("127.0.0.1", broker.port)]) as cluster:
        broker.create_topic(TOPIC)
        producer = producer_of(cluster)
        for number in range(12):
            producer.write(TOPIC, rows(b"%d" % number), NOW_MS)
            if number % 4 == 2:
                broker.kill()
                restarting = threading.Thread(target=broker.start)
                restarting.start()
        producer.commit()
        restarting.join()
        assert read(cluster, TOPIC) == [b"%d" % number for number in range(12)]


def test_no_more_is_under_way_than_the_broker_remembers(cluster: Cluster, topic: str) -> None:
    producer = producer_of(cluster)
    for number in range(20):
        producer.write(topic, rows(b"%d" % number), NOW_MS)
        assert len(producer._in_flight) <= module.MOST_IN_FLIGHT
    producer.abort()
