"""confluent-kafka (librdkafka): what most Python programs use, and what headwater.client uses."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    ConsumerGroupTopicPartitions,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from conformance.calls import create_topic, eventually
from conformance.raw import Connection

NewTopicFixture = Callable[[int], str]


def producer(bootstrap: str, **settings: Any) -> Producer:
    return Producer({"bootstrap.servers": bootstrap} | dotted(settings))


@contextmanager
def consumer(bootstrap: str, group: str, **settings: Any) -> Iterator[Consumer]:
    client = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": 6000,
            "heartbeat.interval.ms": 500,
        }
        | dotted(settings)
    )
    try:
        yield client
    finally:
        client.close()


def dotted(settings: dict[str, Any]) -> dict[str, Any]:
    return {name.replace("_", "."): value for name, value in settings.items()}


def produce(client: Producer, topic: str, values: list[bytes], **fields: Any) -> list[Any]:
    delivered: list[Any] = []

    def on_delivery(error: KafkaError | None, message: Any) -> None:
        assert error is None, error
        delivered.append(message)

    for value in values:
        client.produce(topic, value, on_delivery=on_delivery, **fields)
    assert client.flush(30) == 0
    return delivered


def read(client: Consumer, count: int, within_s: float = 30) -> list[Any]:
    messages: list[Any] = []
    deadline = time.monotonic() + within_s
    while len(messages) < count:
        assert time.monotonic() < deadline, f"{len(messages)} of {count} messages came in time"
        for message in client.consume(count - len(messages), timeout=0.2):
            assert message.error() is None, message.error()
            messages.append(message)
    return messages


def poll_until(
    clients: list[Consumer], condition: Callable[[], bool], within_s: float = 30
) -> None:
    """Let the consumers do their work (rebalances are work) until the condition holds."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"
        for client in clients:
            client.poll(0.05)


@pytest.fixture
def admin(bootstrap: str) -> AdminClient:
    return AdminClient({"bootstrap.servers": bootstrap})


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_round_trips(bootstrap: str, topic: str, name: str, codec: str):
    values = [b"value %d " % index * 20 for index in range(500)]

    produce(producer(bootstrap, compression_type=codec, linger_ms=50), topic, values)

    with consumer(bootstrap, name) as client:
        client.subscribe([topic])
        assert [message.value() for message in read(client, 500)] == values


def test_key_headers_and_timestamp_round_trip(bootstrap: str, topic: str, name: str):
    then = int(time.time() * 1000) - 12_345
    produce(
        producer(bootstrap),
        topic,
        [b"v"],
        key=b"k",
        headers=[("a", b"1"), ("b", None)],
        timestamp=then,
    )

    with consumer(bootstrap, name) as client:
        client.subscribe([topic])
        (message,) = read(client, 1)
    assert (message.key(), message.value()) == (b"k", b"v")
    assert message.headers() == [("a", b"1"), ("b", None)]
    assert message.timestamp() == (1, then)


@pytest.mark.parametrize("acks", ["all", "1", "0"])
def test_every_acks(bootstrap: str, topic: str, name: str, acks: str):
    produce(producer(bootstrap, acks=acks), topic, [b"%d" % index for index in range(100)])

    with consumer(bootstrap, name) as client:
        client.subscribe([topic])
        assert len(read(client, 100)) == 100


def test_idempotent_producer(bootstrap: str, topic: str, name: str):
    values = [b"%d" % index for index in range(5000)]

    delivered = produce(producer(bootstrap, enable_idempotence=True), topic, values)

    assert [message.offset() for message in delivered] == list(range(5000))
    with consumer(bootstrap, name) as client:
        client.subscribe([topic])
        assert [message.value() for message in read(client, 5000)] == values


def test_large_record(bootstrap: str, topic: str, name: str):
    value = b"x" * 900_000

    produce(producer(bootstrap), topic, [value])

    with consumer(bootstrap, name) as client:
        client.subscribe([topic])
        assert read(client, 1)[0].value() == value


def test_topic_is_created_by_producing(bootstrap: str, name: str):
    (message,) = produce(producer(bootstrap), name, [b"first"])

    assert message.offset() == 0


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
def test_members_share_the_partitions_and_hand_them_over(
    bootstrap: str, new_topic: NewTopicFixture, name: str, strategy: str
):
    topic = new_topic(4)
    settings = {"partition_assignment_strategy": strategy}

    def assigned(*clients: Consumer) -> list[int]:
        return [len(client.assignment()) for client in clients]

    with ExitStack() as stack:
        first = stack.enter_context(consumer(bootstrap, name, **settings))
        first.subscribe([topic])
        poll_until([first], lambda: assigned(first) == [4])

        with consumer(bootstrap, name, **settings) as second:
            second.subscribe([topic])
            poll_until([first, second], lambda: assigned(first, second) == [2, 2])
            owned = {p.partition for client in (first, second) for p in client.assignment()}
            assert owned == {0, 1, 2, 3}

        poll_until([first], lambda: assigned(first) == [4])


def test_cooperative_rebalance_takes_away_only_what_moves(
    bootstrap: str, new_topic: NewTopicFixture, name: str
):
    topic = new_topic(4)
    settings = {"partition_assignment_strategy": "cooperative-sticky"}
    revoked: list[int] = []

    with consumer(bootstrap, name, **settings) as first:
        first.subscribe(
            [topic],
            on_revoke=lambda _client, partitions: revoked.extend(p.partition for p in partitions),
        )
        poll_until([first], lambda: len(first.assignment()) == 4)
        with consumer(bootstrap, name, **settings) as second:
            second.subscribe([topic])
            poll_until([first, second], lambda: len(second.assignment()) == 2)
            assert len(revoked) == 2


def test_static_member_returns_without_a_rebalance(
    bootstrap: str, new_topic: NewTopicFixture, name: str
):
    topic = new_topic(2)
    rebalances: list[int] = []

    with consumer(bootstrap, name, group_instance_id="a") as first:
        first.subscribe([topic], on_assign=lambda _client, _partitions: rebalances.append(1))
        with consumer(bootstrap, name, group_instance_id="b") as second:
            second.subscribe([topic])
            poll_until(
                [first, second],
                lambda: len(first.assignment()) == len(second.assignment()) == 1,
            )
        before = len(rebalances)
        with consumer(bootstrap, name, group_instance_id="b") as second:
            second.subscribe([topic])
            poll_until([first, second], lambda: len(second.assignment()) == 1)
        assert len(rebalances) == before


def test_group_goes_on_from_its_commit(bootstrap: str, topic: str, name: str):
    produce(producer(bootstrap), topic, [b"%d" % index for index in range(10)])
    with consumer(bootstrap, name, enable_auto_commit=False) as client:
        client.subscribe([topic])
        messages = read(client, 4)
        client.commit(message=messages[-1], asynchronous=False)

    with consumer(bootstrap, name) as client:
        client.subscribe([topic])
        assert [message.value() for message in read(client, 6)] == [
            b"%d" % index for index in range(4, 10)
        ]


def test_two_groups_read_everything_each(bootstrap: str, topic: str, name: str):
    produce(producer(bootstrap), topic, [b"a", b"b"])

    for group in (f"{name}-1", f"{name}-2"):
        with consumer(bootstrap, group) as client:
            client.subscribe([topic])
            assert [message.value() for message in read(client, 2)] == [b"a", b"b"]


def test_assign_seek_and_position(bootstrap: str, topic: str, name: str):
    produce(producer(bootstrap), topic, [b"%d" % index for index in range(10)])

    with consumer(bootstrap, name) as client:
        client.assign([TopicPartition(topic, 0, 7)])
        assert [message.offset() for message in read(client, 3)] == [7, 8, 9]
        client.seek(TopicPartition(topic, 0, 2))
        assert read(client, 1)[0].offset() == 2
        client.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
        assert read(client, 1)[0].offset() == 0
        assert client.get_watermark_offsets(TopicPartition(topic, 0), timeout=10) == (0, 10)


def test_offsets_for_times(bootstrap: str, topic: str, name: str):
    client_of_time = producer(bootstrap)
    start = int(time.time() * 1000) - 100_000
    for index in range(10):
        produce(client_of_time, topic, [b"x"], timestamp=start + 1000 * index)

    with consumer(bootstrap, name) as client:
        found = client.offsets_for_times([TopicPartition(topic, 0, start + 3500)], timeout=10)
        after = client.offsets_for_times([TopicPartition(topic, 0, start + 99_000)], timeout=10)

    assert found[0].offset == 4
    assert after[0].offset == -1


def test_new_records_wake_a_waiting_consumer(bootstrap: str, topic: str, name: str):
    client_of_records = producer(bootstrap)
    with consumer(bootstrap, name, fetch_wait_max_ms=10_000) as client:
        client.assign([TopicPartition(topic, 0, 0)])
        client.poll(0.5)
        began = time.monotonic()
        produce(client_of_records, topic, [b"now"])
        assert read(client, 1)[0].value() == b"now"
        assert time.monotonic() - began < 5


def test_admin_creates_describes_grows_and_deletes(admin: AdminClient, name: str):
    admin.create_topics([NewTopic(name, 2, 1, config={"retention.ms": "1234"})])[name].result(30)
    with pytest.raises(KafkaException, match="already exists"):
        admin.create_topics([NewTopic(name, 2, 1)])[name].result(30)

    wait_for(lambda: len(admin.list_topics(name, 10).topics[name].partitions) == 2)
    admin.create_partitions([NewPartitions(name, 5)])[name].result(30)
    wait_for(lambda: len(admin.list_topics(name, 10).topics[name].partitions) == 5)

    admin.delete_topics([name])[name].result(30)
    wait_for(lambda: name not in admin.list_topics(timeout=10).topics)


def test_admin_describes_and_alters_configs(admin: AdminClient, topic: str):
    resource = ConfigResource(ResourceType.TOPIC, topic)

    def config(key: str) -> Any:
        return admin.describe_configs([resource])[resource].result(30)[key]

    assert (config("cleanup.policy").value, config("cleanup.policy").is_default) == ("delete", True)
    change = ConfigResource(
        ResourceType.TOPIC,
        topic,
        incremental_configs=[
            ConfigEntry("retention.ms", "777", incremental_operation=AlterConfigOpType.SET),
            ConfigEntry(
                "cleanup.policy", "compact", incremental_operation=AlterConfigOpType.APPEND
            ),
        ],
    )
    admin.incremental_alter_configs([change])[change].result(30)

    wait_for(lambda: config("retention.ms").value == "777")
    assert config("cleanup.policy").value == "delete,compact"


def test_admin_lists_offsets_and_deletes_records(admin: AdminClient, bootstrap: str, topic: str):
    produce(producer(bootstrap), topic, [b"%d" % index for index in range(10)])
    partition = TopicPartition(topic, 0)

    def offset(spec: OffsetSpec) -> int:
        return admin.list_offsets({partition: spec})[partition].result(30).offset

    assert (offset(OffsetSpec.earliest()), offset(OffsetSpec.latest())) == (0, 10)
    deleted = admin.delete_records([TopicPartition(topic, 0, 6)])[partition].result(30)
    assert deleted.low_watermark == 6
    assert offset(OffsetSpec.earliest()) == 6


def test_admin_sees_and_resets_groups(admin: AdminClient, bootstrap: str, topic: str, name: str):
    produce(producer(bootstrap), topic, [b"%d" % index for index in range(10)])
    with consumer(bootstrap, name, enable_auto_commit=False) as client:
        client.subscribe([topic])
        client.commit(message=read(client, 5)[-1], asynchronous=False)

        described = admin.describe_consumer_groups([name])[name].result(30)
        assert described.state.name == "STABLE"
        (member,) = described.members
        assert member.assignment.topic_partitions == [TopicPartition(topic, 0)]
        listed = admin.list_consumer_groups().result(30).valid
        assert name in {group.group_id for group in listed}

    assert group_offset(admin, name, topic) == 5
    reset = ConsumerGroupTopicPartitions(name, [TopicPartition(topic, 0, 2)])
    admin.alter_consumer_group_offsets([reset])[name].result(30)
    assert group_offset(admin, name, topic) == 2

    admin.delete_consumer_groups([name])[name].result(30)
    listed = admin.list_consumer_groups().result(30).valid
    assert name not in {group.group_id for group in listed}


def test_admin_describes_the_cluster(admin: AdminClient, bootstrap: str):
    described = admin.describe_cluster().result(30)

    assert [f"{node.host}:{node.port}" for node in described.nodes] == [bootstrap]
    assert described.controller is not None


def group_offset(admin: AdminClient, group: str, topic: str) -> int:
    asked = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0)])
    found = admin.list_consumer_group_offsets([asked])[group].result(30)
    return found.topic_partitions[0].offset


def wait_for(condition: Callable[[], bool], within_s: float = 15) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come true in time"


_READ_ALL = """
import sys
from confluent_kafka import Consumer, TopicPartition
settings = {"bootstrap.servers": sys.argv[1], "group.id": "x", "enable.partition.eof": True}
consumer = Consumer(settings)
consumer.assign([TopicPartition(sys.argv[2], 0, 0)])
while (message := consumer.poll(30)) is not None and not message.error():
    print(message.value().decode())
"""


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_reader_does_not_die_of_a_batch_that_compaction_has_emptied(
    bootstrap: str, name: str, codec: str
) -> None:
    often = {"cleanup.policy": "compact", "segment.ms": "100", "min.cleanable.dirty.ratio": "0.01"}
    with Connection(bootstrap) as connection:
        create_topic(connection, name, 1, often)
    old = int(time.time() * 1000) - 60_000
    for number, (key, value) in enumerate([("a", "old"), ("a", "new"), ("b", "last")]):
        sender = producer(bootstrap, enable_idempotence=True, compression_type=codec)
        sender.produce(name, value * 100, key, timestamp=old + number * 1000)
        assert sender.flush(30) == 0

    def read() -> list[str]:
        # Apart, because an abort would end the tests too.
        asked = [sys.executable, "-c", _READ_ALL, bootstrap, name]
        reader = subprocess.run(asked, check=False, capture_output=True, text=True, timeout=60)
        assert reader.returncode == 0, reader.stderr
        return [each[:4] for each in reader.stdout.split()]

    eventually(lambda: read() == ["newn", "last"])
