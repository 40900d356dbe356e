"""kafka-python: a client in pure Python, with a protocol implementation of its own."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, OffsetSpec, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.codec import has_gzip, has_lz4, has_snappy, has_zstd
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from kafka.structs import OffsetAndMetadata

# A client that is closed while it connects again leaves that socket to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")

NewTopicFixture = Callable[[int], str]
CODECS = {
    None: True,
    "gzip": has_gzip(),
    "snappy": has_snappy(),
    "lz4": has_lz4(),
    "zstd": has_zstd(),
}


@contextmanager
def producer(bootstrap: str, **settings: Any) -> Iterator[KafkaProducer]:
    client = KafkaProducer(bootstrap_servers=bootstrap, **settings)
    try:
        yield client
    finally:
        client.close()


@contextmanager
def consumer(bootstrap: str, group: str | None, **settings: Any) -> Iterator[KafkaConsumer]:
    client = KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        **{"session_timeout_ms": 6000, "heartbeat_interval_ms": 500} | settings,
    )
    try:
        yield client
    finally:
        client.close()


@pytest.fixture
def admin(bootstrap: str) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(bootstrap_servers=bootstrap)
    yield client
    client.close()


def produce(bootstrap: str, topic: str, values: list[bytes], **settings: Any) -> list[Any]:
    with producer(bootstrap, **settings) as client:
        sent = [client.send(topic, value, partition=0) for value in values]
        client.flush(30)
        return [future.get(30) for future in sent]


def read(client: KafkaConsumer, count: int, within_s: float = 30) -> list[Any]:
    records: list[Any] = []
    while len(records) < count:
        # A shorter poll may end between a rebalance and its assignment, which this client then forgets.
        came = client.poll(int(within_s * 1000), max_records=count - len(records))
        assert came, f"{len(records)} of {count} records came in time"
        for batch in came.values():
            records += batch
    return records


@contextmanager
def polled(client: KafkaConsumer) -> Iterator[KafkaConsumer]:
    """Poll in a thread, as a program would: this client abandons a rebalance on a short poll."""
    stopped = threading.Event()

    def poll() -> None:
        while not stopped.is_set():
            client.poll(1000)

    with ThreadPoolExecutor(1) as pool:
        polling = pool.submit(poll)
        try:
            yield client
        finally:
            stopped.set()
            polling.result()


def wait_for(condition: Callable[[], bool], within_s: float = 30) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        time.sleep(0.01)


@pytest.mark.parametrize("codec", CODECS)
def test_every_codec_round_trips(bootstrap: str, topic: str, name: str, codec: str | None):
    if not CODECS[codec]:
        pytest.skip(f"kafka-python finds no library for {codec}")
    values = [b"value %d " % index * 20 for index in range(300)]

    produce(bootstrap, topic, values, compression_type=codec, linger_ms=50)

    with consumer(bootstrap, name) as client:
        client.subscribe([topic])
        assert [record.value for record in read(client, 300)] == values


def test_key_headers_and_timestamp_round_trip(bootstrap: str, topic: str, name: str):
    then = int(time.time() * 1000) - 12_345
    with producer(bootstrap) as client:
        client.send(
            topic, b"v", key=b"k", headers=[("a", b"1")], partition=0, timestamp_ms=then
        ).get(30)

    with consumer(bootstrap, name) as client:
        client.subscribe([topic])
        (record,) = read(client, 1)
    assert (record.key, record.value, record.timestamp) == (b"k", b"v", then)
    assert list(record.headers) == [("a", b"1")]


@pytest.mark.parametrize("acks", ["all", 1, 0])
def test_every_acks(bootstrap: str, topic: str, name: str, acks: str | int):
    values = [b"%d" % index for index in range(100)]

    produce(bootstrap, topic, values, acks=acks, enable_idempotence=False)

    with consumer(bootstrap, name) as client:
        client.subscribe([topic])
        assert [record.value for record in read(client, 100)] == values


def test_idempotent_producer(bootstrap: str, topic: str):
    values = [b"%d" % index for index in range(1000)]

    sent = produce(bootstrap, topic, values, enable_idempotence=True)

    assert [metadata.offset for metadata in sent] == list(range(1000))


@pytest.mark.parametrize(
    "assignor", [RangePartitionAssignor, RoundRobinPartitionAssignor, CooperativeStickyAssignor]
)
def test_members_share_the_partitions_and_hand_them_over(
    bootstrap: str, new_topic: NewTopicFixture, name: str, assignor: type
):
    topic = new_topic(4)
    settings = {"partition_assignment_strategy": [assignor]}

    with consumer(bootstrap, name, **settings) as first:
        first.subscribe([topic])
        with polled(first):
            wait_for(lambda: len(first.assignment()) == 4)
            with consumer(bootstrap, name, **settings) as second:
                second.subscribe([topic])
                with polled(second):
                    wait_for(lambda: len(first.assignment()) == len(second.assignment()) == 2)
                    assert not first.assignment() & second.assignment()
            wait_for(lambda: len(first.assignment()) == 4)


def test_group_goes_on_from_its_commit(bootstrap: str, topic: str, name: str):
    produce(bootstrap, topic, [b"%d" % index for index in range(10)])
    partition = TopicPartition(topic, 0)
    with consumer(bootstrap, name, enable_auto_commit=False) as client:
        client.subscribe([topic])
        read(client, 4)
        client.commit({partition: OffsetAndMetadata(4, "half way", -1)})
        assert client.committed(partition, metadata=True).metadata == "half way"

    with consumer(bootstrap, name) as client:
        client.subscribe([topic])
        assert [record.offset for record in read(client, 6)] == [4, 5, 6, 7, 8, 9]


def test_assign_seek_and_position(bootstrap: str, topic: str):
    produce(bootstrap, topic, [b"%d" % index for index in range(10)])
    partition = TopicPartition(topic, 0)

    with consumer(bootstrap, None) as client:
        client.assign([partition])
        client.seek(partition, 7)
        assert [record.offset for record in read(client, 3)] == [7, 8, 9]
        client.seek_to_beginning(partition)
        assert read(client, 1)[0].offset == 0
        assert client.position(partition) == 1
        assert client.beginning_offsets([partition]) == {partition: 0}
        assert client.end_offsets([partition]) == {partition: 10}


def test_offsets_for_times(bootstrap: str, topic: str):
    start = int(time.time() * 1000) - 100_000
    partition = TopicPartition(topic, 0)
    with producer(bootstrap) as client:
        for index in range(10):
            client.send(topic, b"x", partition=0, timestamp_ms=start + 1000 * index)
        client.flush(30)

    with consumer(bootstrap, None) as client:
        client.assign([partition])
        found = client.offsets_for_times({partition: start + 3500})[partition]
        after = client.offsets_for_times({partition: start + 99_000})[partition]

    assert (found.offset, found.timestamp) == (4, start + 4000)
    assert after is None


def test_admin_creates_describes_grows_and_deletes(admin: KafkaAdminClient, name: str):
    admin.create_topics({name: {"num_partitions": 2, "replication_factor": 1}})
    wait_for(lambda: name in admin.list_topics())
    (described,) = admin.describe_topics([name])
    assert len(described["partitions"]) == 2

    admin.create_partitions({name: 5})
    wait_for(lambda: len(admin.describe_topics([name])[0]["partitions"]) == 5)

    admin.delete_topics([name])
    wait_for(lambda: name not in admin.list_topics())


def test_admin_describes_and_alters_configs(admin: KafkaAdminClient, topic: str):
    def retention() -> str:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic)
        described = admin.describe_configs([resource], config_filter="all")
        return described["topic"][topic]["retention.ms"]["value"]

    assert retention() == "604800000"
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": "777"})])
    wait_for(lambda: retention() == "777")


def test_admin_lists_offsets_and_deletes_records(
    admin: KafkaAdminClient, bootstrap: str, topic: str
):
    produce(bootstrap, topic, [b"%d" % index for index in range(10)])
    partition = TopicPartition(topic, 0)

    def offset(spec: OffsetSpec) -> int:
        return admin.list_partition_offsets({partition: spec})[partition].offset

    assert (offset(OffsetSpec.EARLIEST), offset(OffsetSpec.LATEST)) == (0, 10)
    admin.delete_records({partition: 6})
    assert offset(OffsetSpec.EARLIEST) == 6


def test_admin_sees_and_resets_groups(
    admin: KafkaAdminClient, bootstrap: str, topic: str, name: str
):
    produce(bootstrap, topic, [b"%d" % index for index in range(10)])
    partition = TopicPartition(topic, 0)
    with consumer(bootstrap, name, enable_auto_commit=False) as client:
        client.subscribe([topic])
        read(client, 5)
        client.commit({partition: OffsetAndMetadata(5, "", -1)})
        described = admin.describe_groups([name])[name]
        assert described["group_state"] == "Stable"
        assert len(described["members"]) == 1
        assert name in {group["group_id"] for group in admin.list_groups()}

    assert admin.list_group_offsets(name)[name][partition].offset == 5
    admin.alter_group_offsets(name, {partition: OffsetAndMetadata(2, "", -1)})
    assert admin.list_group_offsets(name)[name][partition].offset == 2
    admin.delete_groups([name])
    assert name not in {group["group_id"] for group in admin.list_groups()}


def test_admin_describes_the_cluster_and_its_log_dirs(
    admin: KafkaAdminClient, bootstrap: str, topic: str
):
    described = admin.describe_cluster()
    assert [f"{broker['host']}:{broker['port']}" for broker in described["brokers"]] == [bootstrap]

    assert topic in str(admin.describe_log_dirs())
