"""Tasks that are cancelled while they wait: what they waited for is not lost, nor is a failure."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import headwater
from headwater.client import AsyncClient, AsyncConsumer
from headwater.errors import InvalidRequest, Unavailable
from headwater.testing import Broker
from rigs.async_program import Run, begin, cancel


def test_who_is_cancelled_while_he_waits_loses_no_record(run: Run, topic: str, group: str) -> None:
    async def program(client: AsyncClient) -> list[Any]:
        found: list[Any] = []
        async with client.consumer(topic, group=group) as records:
            for number in range(20):
                waiting = asyncio.ensure_future(anext(records))
                await client.send(topic, number)
                waiting.cancel()
                try:
                    found.append((await waiting).value)
                except asyncio.CancelledError:
                    found.append((await anext(records)).value)
        return found

    # `anext` says that the one before is finished, so each comes once, in order.
    assert run(program) == [*range(20)]


READERS: dict[str, Callable[[AsyncConsumer], Awaitable[Any]]] = {
    "poll": lambda records: records.poll(3, 30),
    "batches": lambda records: anext(aiter(records.batches(3, 30))),
}


async def cancel_a_reader(
    client: AsyncClient, topic: str, records: AsyncConsumer, how: str
) -> None:
    """It has read 0 before; 1 and 2 have come for it when it is cancelled, 3 comes later."""
    await client.send(topic, 0)
    assert [each.value for each in await records.poll(1, 30)] == [0]
    reader = await begin(READERS[how](records))
    for number in (1, 2):
        await client.send(topic, number)
    assert records._consumer
    while len(records._consumer._batch) < 2:  # noqa: ASYNC110  a thread that reads tells nobody
        await asyncio.sleep(0)
    await cancel(reader)
    await client.send(topic, 3)


@pytest.mark.parametrize("how", READERS)
def test_a_cancelled_batch_keeps_the_next_one_waiting_no_longer(
    run: Run, topic: str, how: str
) -> None:
    async def program(client: AsyncClient) -> list[Any]:
        async with client.consumer(topic) as records:
            await cancel(await begin(READERS[how](records)))
            async with asyncio.timeout(10):
                return await records.poll(max_wait_s=0)

    assert run(program) == []


@pytest.mark.parametrize("how", READERS)
def test_who_reads_after_a_cancelled_batch_gets_its_records(
    run: Run, topic: str, group: str, how: str
) -> None:
    async def program(client: AsyncClient) -> list[Any]:
        async with client.consumer(topic, group=group) as records:
            await cancel_a_reader(client, topic, records, how)
            return [each.value for each in await records.poll(3, 5)]

    assert run(program) == [1, 2, 3]


@pytest.mark.parametrize("how", READERS)
def test_a_loop_after_a_cancelled_batch_gets_its_records(
    run: Run, topic: str, group: str, how: str
) -> None:
    async def program(client: AsyncClient) -> list[Any]:
        async with client.consumer(topic, group=group, until=4) as records:
            await cancel_a_reader(client, topic, records, how)
            return [record.value async for record in records]

    assert run(program) == [1, 2, 3]


@pytest.mark.parametrize("how", READERS)
def test_leaving_after_a_cancelled_batch_does_not_finish_its_records(
    run: Run, topic: str, group: str, how: str
) -> None:
    async def program(client: AsyncClient) -> list[Any]:
        async with client.consumer(topic, group=group) as records:
            await cancel_a_reader(client, topic, records, how)
        async with client.consumer(topic, group=group, until="end") as records:
            return [record.value async for record in records]

    assert run(program) == [1, 2, 3]


def test_a_failure_that_a_cancelled_flush_met_is_raised_by_leaving() -> None:
    async def program(broker: Broker) -> None:
        async with (
            headwater.AsyncClient(broker.bootstrap, timeout_s=2) as client,
            client.producer() as producer,
        ):
            broker.stop()
            await producer.send("orders", 0)
            await cancel(await begin(producer.flush()))

    with Broker() as broker, pytest.raises(Unavailable, match="cannot deliver"):
        asyncio.run(program(broker))


def test_a_failure_that_a_cancelled_close_met_is_raised_by_leaving_the_client() -> None:
    records: AsyncConsumer | None = None

    async def program(broker: Broker) -> None:
        nonlocal records
        async with headwater.AsyncClient(broker.bootstrap, timeout_s=2) as client:
            records = client.consumer("orders")
            await records.poll(max_wait_s=0)
            producer = client.producer()
            broker.stop()
            await producer.send("orders", 0)
            flushing = await begin(producer.flush())
            await cancel(await begin(producer.close()))
            await cancel(flushing)
            client.producer()  # does not push aside what is not told yet

    with Broker() as broker:
        broker.create_topic("orders")
        with pytest.raises(Unavailable, match="cannot deliver"):
            asyncio.run(program(broker))
    assert records is not None
    assert records.is_closed


def test_a_cancelled_close_of_the_client_closes_everything_all_the_same(
    run: Run, topic: str, group: str
) -> None:
    async def program(client: AsyncClient) -> None:
        producer = client.producer()
        records = client.consumer(topic, group=group)
        await producer.send(topic, 0)
        assert await records.poll(1, 30)
        polling = await begin(records.poll(1, 30))
        closing = await begin(client.close())
        await asyncio.sleep(0)  # it has begun with each of them
        closing.cancel()
        await asyncio.wait([closing, polling])
        assert isinstance(polling.exception(), InvalidRequest)
        await client.close()
        assert producer.is_closed
        assert records.is_closed

    run(program)
