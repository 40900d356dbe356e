"""aiokafka: the client of asyncio programs. It speaks old versions of most APIs."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

NewTopicFixture = Callable[[int], str]


@asynccontextmanager
async def producer(bootstrap: str, **settings: Any) -> AsyncIterator[AIOKafkaProducer]:
    client = AIOKafkaProducer(bootstrap_servers=bootstrap, **settings)
    await client.start()
    try:
        yield client
    finally:
        await client.stop()


@asynccontextmanager
async def consumer(
    bootstrap: str, *topics: str, group: str | None = None, **settings: Any
) -> AsyncIterator[AIOKafkaConsumer]:
    client = AIOKafkaConsumer(
        *topics,
        bootstrap_servers=bootstrap,
        group_id=group,
        auto_offset_reset="earliest",
        **{"session_timeout_ms": 6000, "heartbeat_interval_ms": 300} | settings,
    )
    await client.start()
    try:
        yield client
    finally:
        await client.stop()


@asynccontextmanager
async def admin_client(bootstrap: str) -> AsyncIterator[AIOKafkaAdminClient]:
    client = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await client.start()
    try:
        yield client
    finally:
        await client.close()


async def produce(bootstrap: str, topic: str, values: list[bytes], **settings: Any) -> list[Any]:
    async with producer(bootstrap, **settings) as client:
        sent = [await client.send(topic, value, partition=0) for value in values]
        return list(await asyncio.gather(*sent))


async def read(client: AIOKafkaConsumer, count: int) -> list[Any]:
    async with asyncio.timeout(30):
        return [await client.getone() for _ in range(count)]


async def until(condition: Callable[[], Awaitable[bool]], within_s: float = 30) -> None:
    async with asyncio.timeout(within_s):
        while not await condition():  # noqa: ASYNC110, the change happens in another process
            await asyncio.sleep(0.02)


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_every_codec_round_trips(bootstrap: str, topic: str, codec: str | None):
    values = [b"value %d " % index * 20 for index in range(300)]

    async def scenario() -> None:
        await produce(bootstrap, topic, values, compression_type=codec, linger_ms=50)
        async with consumer(bootstrap, topic) as client:
            assert [record.value for record in await read(client, 300)] == values

    asyncio.run(scenario())


def test_key_headers_and_timestamp_round_trip(bootstrap: str, topic: str):
    then = int(time.time() * 1000) - 12_345

    async def scenario() -> None:
        async with producer(bootstrap) as client:
            await client.send_and_wait(
                topic, b"v", key=b"k", headers=[("a", b"1")], timestamp_ms=then
            )
        async with consumer(bootstrap, topic) as client:
            (record,) = await read(client, 1)
        assert (record.key, record.value, record.timestamp) == (b"k", b"v", then)
        assert record.headers == (("a", b"1"),)

    asyncio.run(scenario())


@pytest.mark.parametrize("acks", ["all", 1, 0])
def test_every_acks(bootstrap: str, topic: str, acks: str | int):
    values = [b"%d" % index for index in range(100)]

    async def scenario() -> None:
        await produce(bootstrap, topic, values, acks=acks)
        async with consumer(bootstrap, topic) as client:
            assert [record.value for record in await read(client, 100)] == values

    asyncio.run(scenario())


def test_idempotent_producer(bootstrap: str, topic: str):
    values = [b"%d" % index for index in range(1000)]

    async def scenario() -> None:
        sent = await produce(bootstrap, topic, values, enable_idempotence=True)
        assert [metadata.offset for metadata in sent] == list(range(1000))

    asyncio.run(scenario())


@pytest.mark.parametrize("assignor", [RoundRobinPartitionAssignor, StickyPartitionAssignor])
def test_members_share_the_partitions_and_hand_them_over(
    bootstrap: str, new_topic: NewTopicFixture, name: str, assignor: type
):
    topic = new_topic(4)
    settings = {"group": name, "partition_assignment_strategy": [assignor]}

    async def scenario() -> None:
        async with AsyncExitStack() as stack:
            first = await stack.enter_async_context(consumer(bootstrap, topic, **settings))

            async def first_has_all() -> bool:
                return len(first.assignment()) == 4

            await until(first_has_all)
            async with consumer(bootstrap, topic, **settings) as second:

                async def both_have_half() -> bool:
                    return len(first.assignment()) == len(second.assignment()) == 2

                await until(both_have_half)
                assert not first.assignment() & second.assignment()
            await until(first_has_all)

    asyncio.run(scenario())


def test_group_goes_on_from_its_commit(bootstrap: str, topic: str, name: str):
    partition = TopicPartition(topic, 0)

    async def scenario() -> None:
        await produce(bootstrap, topic, [b"%d" % index for index in range(10)])
        async with consumer(bootstrap, topic, group=name, enable_auto_commit=False) as client:
            await read(client, 4)
            await client.commit({partition: (4, "half way")})
            assert await client.committed(partition) == 4
        async with consumer(bootstrap, topic, group=name) as client:
            assert [record.offset for record in await read(client, 6)] == [4, 5, 6, 7, 8, 9]

    asyncio.run(scenario())


def test_assign_seek_and_position(bootstrap: str, topic: str):
    partition = TopicPartition(topic, 0)

    async def scenario() -> None:
        await produce(bootstrap, topic, [b"%d" % index for index in range(10)])
        async with consumer(bootstrap) as client:
            client.assign([partition])
            client.seek(partition, 7)
            assert [record.offset for record in await read(client, 3)] == [7, 8, 9]
            await client.seek_to_beginning(partition)
            assert (await read(client, 1))[0].offset == 0
            assert await client.position(partition) == 1
            assert await client.beginning_offsets([partition]) == {partition: 0}
            assert await client.end_offsets([partition]) == {partition: 10}

    asyncio.run(scenario())


def test_offsets_for_times(bootstrap: str, topic: str):
    start = int(time.time() * 1000) - 100_000
    partition = TopicPartition(topic, 0)

    async def scenario() -> None:
        async with producer(bootstrap) as client:
            for index in range(10):
                await client.send_and_wait(topic, b"x", timestamp_ms=start + 1000 * index)
        async with consumer(bootstrap) as client:
            client.assign([partition])
            found = (await client.offsets_for_times({partition: start + 3500}))[partition]
            after = (await client.offsets_for_times({partition: start + 99_000}))[partition]
        assert (found.offset, found.timestamp) == (4, start + 4000)
        assert after is None

    asyncio.run(scenario())


def test_admin_creates_describes_grows_and_deletes(bootstrap: str, name: str):
    async def scenario() -> None:
        async with admin_client(bootstrap) as admin:

            async def has_partitions(count: int) -> bool:
                (described,) = await admin.describe_topics([name])
                return len(described["partitions"]) == count

            async def is_listed() -> bool:
                return name in await admin.list_topics()

            await admin.create_topics([NewTopic(name, 2, 1)])
            await until(is_listed)
            await until(lambda: has_partitions(2))
            await admin.create_partitions({name: NewPartitions(5)})
            await until(lambda: has_partitions(5))
            await admin.delete_topics([name])

            async def is_gone() -> bool:
                return not await is_listed()

            await until(is_gone)

    asyncio.run(scenario())


def test_admin_describes_and_alters_configs(bootstrap: str, topic: str):
    async def scenario() -> None:
        async with admin_client(bootstrap) as admin:

            async def retention() -> str:
                asked = ConfigResource(ConfigResourceType.TOPIC, topic)
                (response,) = await admin.describe_configs([asked])
                configs = response.resources[0][4]
                return {config[0]: config[1] for config in configs}["retention.ms"]

            async def is_changed() -> bool:
                return await retention() == "777"

            assert await retention() == "604800000"
            await admin.alter_configs(
                [ConfigResource(ConfigResourceType.TOPIC, topic, {"retention.ms": "777"})]
            )
            await until(is_changed)

    asyncio.run(scenario())


def test_admin_deletes_records(bootstrap: str, topic: str):
    partition = TopicPartition(topic, 0)

    async def scenario() -> None:
        await produce(bootstrap, topic, [b"%d" % index for index in range(10)])
        async with admin_client(bootstrap) as admin:
            deleted = await admin.delete_records({partition: RecordsToDelete(before_offset=6)})
            assert deleted[partition] == 6
        async with consumer(bootstrap) as client:
            assert await client.beginning_offsets([partition]) == {partition: 6}

    asyncio.run(scenario())


def test_admin_sees_groups(bootstrap: str, topic: str, name: str):
    partition = TopicPartition(topic, 0)

    async def scenario() -> None:
        await produce(bootstrap, topic, [b"%d" % index for index in range(10)])
        async with (
            admin_client(bootstrap) as admin,
            consumer(bootstrap, topic, group=name, enable_auto_commit=False) as client,
        ):
            await read(client, 5)
            await client.commit({partition: 5})
            assert name in {group[0] for group in await admin.list_consumer_groups()}
            (described,) = await admin.describe_consumer_groups([name])
            assert described.groups[0][2] == "Stable"
            offsets = await admin.list_consumer_group_offsets(name)
            assert offsets[partition].offset == 5

    asyncio.run(scenario())
