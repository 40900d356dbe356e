"""Bodies that take their time over what was read ahead: their member stays in touch with its group."""

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any

import pytest

import headwater
from headwater.client import Client
from headwater.testing import SettableClock

RECORDS = 200
ENOUGH = 90
"""Fewer than one fetch brings: they are handed out without another one."""
BODY_S = 0.1
"""What a body really takes; on the client's clock it is much longer."""


class SecondMember:
    """Joins the group when it is called: it gets a partition only if the first one answers the group."""

    def __init__(self, bootstrap: str, topic: str, group: str) -> None:
        self._reading = bootstrap, topic, group
        self._thread = ThreadPoolExecutor(1)
        self._taken: Future[int] | None = None
        self.has_begun = Event()

    def join(self) -> None:
        if self._taken is None:
            self._taken = self._thread.submit(self._read)

    def taken(self) -> int:
        assert self._taken is not None
        return self._taken.result()

    def _read(self) -> int:
        bootstrap, topic, group = self._reading
        with (
            headwater.connect(bootstrap) as client,
            client.consumer(topic, group=group) as records,
        ):
            value = next(records).value
            self.has_begun.set()
            return int(value)

    @contextmanager
    def leaving(self) -> Iterator["SecondMember"]:
        with self._thread:
            yield self


@pytest.fixture
def filled(client: Client, new_topic: Callable[..., str]) -> str:
    topic = new_topic(partitions=2)
    with client.producer() as producer:
        for number in range(RECORDS):
            producer.send(topic, number, partition=number % 2)
    return topic


def rest_of(client: Client, topic: str, group: str) -> list[int]:
    with client.consumer(topic, group=group, until="end") as records:
        return [record.value for record in records]


@pytest.mark.timeout(60)
def test_a_loop_on_asyncio_answers_its_group_while_it_hands_out_what_it_has_read(
    bootstrap: str, client: Client, filled: str, group: str
) -> None:
    clock = SettableClock()
    seen: list[int] = []

    async def program(second: SecondMember) -> None:
        async with (
            headwater.AsyncClient(bootstrap, clock=clock) as own,
            own.consumer(filled, group=group) as records,
        ):
            async for record in records:
                seen.append(record.value)
                second.join()
                clock.advance(seconds=2)
                is_over = await asyncio.to_thread(second.has_begun.wait, BODY_S)
                if is_over or len(seen) == ENOUGH:
                    await records.commit()
                    break

    with SecondMember(bootstrap, filled, group).leaving() as second:
        asyncio.run(program(second))
        seen.append(second.taken())
    assert len(seen) <= ENOUGH
    assert sorted(seen + rest_of(client, filled, group)) == [*range(RECORDS)]


def one_by_one(consumer: Any) -> Iterator[list[Any]]:
    return ([record] for record in consumer)


def in_small_batches(consumer: Any) -> Iterator[list[Any]]:
    batches: Iterator[list[Any]] = consumer.batches(max_records=1)
    return batches


@pytest.mark.timeout(60)
@pytest.mark.parametrize("reading", [one_by_one, in_small_batches])
def test_a_loop_over_a_batch_that_was_left_answers_its_group(
    bootstrap: str,
    client: Client,
    filled: str,
    group: str,
    reading: Callable[[Any], Iterator[list[Any]]],
) -> None:
    clock = SettableClock()
    seen: list[int] = []
    with (
        SecondMember(bootstrap, filled, group).leaving() as second,
        headwater.connect(bootstrap, clock=clock) as own,
    ):
        with own.consumer(filled, group=group) as records:
            for _ in records.batches(max_records=ENOUGH + 1):
                break
            for batch in reading(records):
                seen += [record.value for record in batch]
                second.join()
                clock.advance(seconds=2)
                if second.has_begun.wait(BODY_S) or len(seen) == ENOUGH:
                    records.commit()
                    break
        seen.append(second.taken())
    assert len(seen) <= ENOUGH
    assert sorted(seen + rest_of(client, filled, group)) == [*range(RECORDS)]
