"""Closing in programs on asyncio: it does not wait for readers, and what is closed says so."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from headwater.client import AsyncClient, AsyncConsumer
from headwater.errors import InvalidRequest
from rigs.async_program import Run, begin


async def read_one_by_one(records: AsyncConsumer, has_begun: asyncio.Event) -> None:
    async for _ in records:
        has_begun.set()


async def read_batches(records: AsyncConsumer, has_begun: asyncio.Event) -> None:
    async for _ in records.batches(max_wait_s=0.1):
        has_begun.set()


async def poll(records: AsyncConsumer, has_begun: asyncio.Event) -> None:
    while True:
        if await records.poll(max_wait_s=0.1):
            has_begun.set()


async def poll_for_long(records: AsyncConsumer, has_begun: asyncio.Event) -> None:
    assert await records.poll(1, 30)
    has_begun.set()
    await records.poll(max_wait_s=50)


@pytest.mark.parametrize("read", [read_one_by_one, read_batches, poll, poll_for_long])
@pytest.mark.parametrize("is_client_closed", [True, False], ids=["client", "consumer"])
def test_closing_does_not_wait_for_a_task_that_reads_on(
    run: Run,
    topic: str,
    group: str,
    read: Callable[[AsyncConsumer, asyncio.Event], Awaitable[None]],
    *,
    is_client_closed: bool,
) -> None:
    async def program(client: AsyncClient) -> None:
        await client.send(topic, 0)
        has_begun = asyncio.Event()
        records = client.consumer(topic, group=group)
        reading = asyncio.ensure_future(read(records, has_begun))
        await has_begun.wait()
        async with asyncio.timeout(10):
            await (client if is_client_closed else records).close()
        with pytest.raises(InvalidRequest, match="the consumer is closed"):
            await reading

    run(program)


def test_what_was_closed_is_left_and_closed_again_without_complaint(run: Run, topic: str) -> None:
    async def program(client: AsyncClient) -> list[Any]:
        async with client.producer() as producer:
            await producer.send(topic, 0)
            await producer.close()
            await producer.flush()
        await producer.close()
        async with client.consumer(topic, until="end") as records:
            found = [record.value async for record in records]
            await records.close()
        await records.close()
        return found

    assert run(program) == [0]


@pytest.mark.parametrize("is_used", [True, False], ids=["used", "never used"])
def test_a_closed_consumer_says_so(run: Run, topic: str, *, is_used: bool) -> None:
    async def enter(records: AsyncConsumer) -> None:
        async with records:
            pass

    async def program(client: AsyncClient) -> None:
        await client.send(topic, 0)
        records = client.consumer(topic)
        if is_used:
            assert await records.poll(1, 30)
        await records.close()
        calls: list[Awaitable[Any]] = [
            records.poll(),
            anext(records),
            anext(aiter(records)),
            anext(aiter(records.batches())),
            records.seek("start"),
            records.commit(),
            enter(records),
        ]
        for call in calls:
            with pytest.raises(InvalidRequest, match="the consumer is closed"):
                await call

    run(program)


def test_a_sender_that_waits_for_room_is_told_that_the_producer_was_closed(
    run: Run, topic: str
) -> None:
    async def program(client: AsyncClient) -> list[Any]:
        producer = client.producer(linger_ms=5000, options={"queue.buffering.max.messages": 1})
        await producer.send(topic, 0)
        waiting = await begin(producer.send(topic, 1))
        assert not waiting.done()
        await producer.close()
        with pytest.raises(InvalidRequest, match="the producer is closed"):
            await waiting
        async with client.consumer(topic, until="end") as records:
            return [record.value async for record in records]

    assert run(program) == [0]


def test_a_closed_client_says_so(run: Run, topic: str) -> None:
    async def program(client: AsyncClient) -> None:
        await client.send(topic, 0)
        await client.close()
        calls: list[Callable[[], Any]] = [client.producer, lambda: client.consumer(topic)]
        for call in calls:
            with pytest.raises(InvalidRequest, match="the client is closed"):
                call()
        with pytest.raises(InvalidRequest, match="the client is closed"):
            await client.send(topic, 1)

    run(program)
