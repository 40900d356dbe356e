"""The client of programs on asyncio: the promises of the other one, and nothing waits for it."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

import headwater
from headwater.client import AsyncClient, Client
from headwater.errors import HeadwaterError, InvalidRequest, Unavailable
from rigs.async_program import Run


async def read(client: AsyncClient, topic: str, **reading: Any) -> list[Any]:
    async with client.consumer(topic, **reading) as records:
        return [record.value async for record in records]


def committed(client: Client, group: str) -> list[int | None]:
    return [place.committed for place in client.admin.groups.describe(group).partitions]


def test_what_is_sent_at_the_same_time_is_stored_once_each(run: Run, topic: str) -> None:
    async def program(client: AsyncClient) -> list[Any]:
        receipts = await asyncio.gather(*(client.send(topic, n) for n in range(2000)))
        assert sorted(each.offset for each in receipts) == [*range(2000)]
        return await read(client, topic, until="end")

    assert run(program) == [*range(2000)]


def test_a_reader_that_waits_keeps_nobody_waiting(run: Run, topic: str, group: str) -> None:
    async def program(client: AsyncClient) -> Any:
        async with client.consumer(topic, group=group) as records:
            first = asyncio.ensure_future(anext(aiter(records)))
            await asyncio.sleep(0)
            await client.send(topic, "hello")
            return (await first).value

    assert run(program) == "hello"


def test_a_record_is_finished_when_the_next_one_is_asked_for(
    run: Run, client: Client, topic: str, group: str
) -> None:
    async def fail_at(client: AsyncClient, bad: int) -> list[int]:
        seen = []
        async with client.consumer(topic, group=group, until="end") as records:
            async for record in records:
                seen.append(record.value)
                if record.value == bad:
                    raise ZeroDivisionError
        return seen

    async def stop_at(client: AsyncClient, last: int, *, is_finished: bool) -> None:
        async with client.consumer(topic, group=group) as records:
            async for record in records:
                if record.value == last:
                    if is_finished:
                        await records.commit()
                    break

    for number in range(10):
        client.send(topic, number)
    with pytest.raises(ZeroDivisionError):
        run(lambda each: fail_at(each, 3))
    assert committed(client, group) == [3]
    run(lambda each: stop_at(each, 5, is_finished=False))
    assert committed(client, group) == [5]
    run(lambda each: stop_at(each, 5, is_finished=True))
    assert committed(client, group) == [6]
    assert run(lambda each: fail_at(each, 10)) == [6, 7, 8, 9]
    assert committed(client, group) == [10]


def test_the_next_loop_begins_with_what_the_last_one_left(
    run: Run, client: Client, topic: str
) -> None:
    async def program(client: AsyncClient) -> list[Any]:
        async with client.consumer(topic, until="end") as records:
            async for _ in records:
                break
            async for batch in records.batches(2):
                assert batch[0].value == 0
                break
            return [record.value async for record in records]

    for number in range(4):
        client.send(topic, number)
    assert run(program) == [0, 1, 2, 3]


def test_batches_and_positions(run: Run, client: Client, topic: str) -> None:
    async def program(client: AsyncClient) -> tuple[list[int], Any]:
        async with client.consumer(topic, until="end") as records:
            values = [each.value async for batch in records.batches(4) for each in batch]
        async with client.consumer(topic) as records:
            await records.seek(-2)
            assert records.assignment == {(topic, 0)}
            return values, [each.value for each in await records.poll(2, 30)]

    for number in range(10):
        client.send(topic, number)
    assert run(program) == ([*range(10)], [8, 9])


def test_members_of_a_group_share_the_work(
    run: Run, new_topic: Callable[..., str], group: str
) -> None:
    topic = new_topic(partitions=4)

    async def program(client: AsyncClient) -> list[int]:
        found: list[int] = []

        async def member() -> None:
            async with client.consumer(topic, group=group) as records:
                async for record in records:
                    found.append(record.value)
                    await records.commit()
                    if len(found) == 400:
                        is_done.set()

        is_done = asyncio.Event()
        async with client.producer() as producer:
            members = [asyncio.ensure_future(member()) for _ in range(2)]
            for number in range(400):
                await producer.send(topic, number, partition=number % 4)
        await is_done.wait()
        for each in members:
            each.cancel()
        await asyncio.gather(*members, return_exceptions=True)
        return found

    assert sorted(run(program)) == [*range(400)]


def test_a_full_queue_holds_up_who_sends_and_nobody_else(run: Run, topic: str) -> None:
    async def program(client: AsyncClient) -> list[Any]:
        async with client.producer(options={"queue.buffering.max.messages": 10}) as producer:
            for number in range(500):
                await producer.send(topic, number)
        return await read(client, topic, until="end")

    assert run(program) == [*range(500)]


def test_no_failure_is_dropped(run: Run, topic: str) -> None:
    large = "x" * 2_000_000

    async def asked(client: AsyncClient) -> None:
        async with client.producer() as producer:
            delivery = await producer.send(topic, large)
            with pytest.raises(HeadwaterError, match="larger than"):
                await delivery.result()
            assert delivery.done
            await producer.flush()  # what was told is not told again

    async def not_asked(client: AsyncClient) -> None:
        async with client.producer() as producer:
            await producer.send(topic, large)

    async def closed(client: AsyncClient) -> None:
        producer = client.producer()
        await producer.close()
        await producer.send(topic, 1)

    run(asked)
    with pytest.raises(HeadwaterError, match="larger than"):
        run(not_asked)
    with pytest.raises(InvalidRequest, match="the producer is closed"):
        run(closed)


def test_mistakes_are_one_sentence(run: Run) -> None:
    async def without_topic(client: AsyncClient) -> None:
        async with client.consumer():
            pass

    with pytest.raises(InvalidRequest, match="needs a topic"):
        run(without_topic)
    with pytest.raises(InvalidRequest, match="not connected"):
        headwater.AsyncClient().consumer("orders")

    async def nowhere() -> None:
        async with headwater.AsyncClient("127.0.0.1:1"):
            pass

    with pytest.raises(Unavailable, match=r"127\.0\.0\.1:1"):
        asyncio.run(nowhere())


def test_admin_is_called_aside(run: Run, topic: str) -> None:
    def names(client: AsyncClient) -> Coroutine[Any, Any, list[str]]:
        return asyncio.to_thread(client.admin.topics.names)

    assert topic in run(names)
