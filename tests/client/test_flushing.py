"""`flush` waits for what was sent before it, and not for what others send meanwhile."""

import asyncio
from typing import Any

import pytest

import headwater
from headwater.client import AsyncClient, Client, Delivery, Producer
from headwater.clock import SystemClock
from headwater.errors import InvalidRequest, Unavailable
from headwater.testing import Broker
from rigs.async_program import begin

LATER = "made-later"


class SendingClock(SystemClock):
    """Sends a record when somebody looks at it for the first time: as another thread might."""

    producer: Producer | None = None
    sent: Delivery | None = None

    def monotonic_s(self) -> float:
        if self.producer is not None and self.sent is None:
            sender, self.producer = self.producer, None
            self.sent = sender.send(LATER, "meanwhile")  # waits for its topic
        return super().monotonic_s()


def test_a_flush_does_not_wait_for_what_another_thread_sends_meanwhile() -> None:
    clock = SendingClock()
    with Broker(auto_create_topics=False) as broker:
        broker.create_topic("orders")
        with headwater.connect(broker.bootstrap, timeout_s=60, clock=clock) as client:
            producer = client.producer()
            before = producer.send("orders", "before")
            clock.producer = producer
            producer.flush(timeout_s=30)
            assert before.done
            assert clock.sent is not None
            assert not clock.sent.done
            broker.create_topic(LATER)
        assert broker.topic(LATER).values() == ["meanwhile"]


def test_a_flush_does_not_wait_for_what_another_task_sends_meanwhile() -> None:
    with Broker(auto_create_topics=False) as broker:
        broker.create_topic("orders")

        async def program() -> None:
            async with (
                AsyncClient(broker.bootstrap, timeout_s=60) as client,
                client.producer() as producer,
            ):
                before = await producer.send("orders", "before")
                flushing = await begin(producer.flush(timeout_s=30))
                meanwhile = await producer.send(LATER, "meanwhile")  # waits for its topic
                await flushing
                assert before.done
                assert not meanwhile.done
                broker.create_topic(LATER)

        asyncio.run(program())
        assert broker.topic(LATER).values() == ["meanwhile"]


def test_a_flush_that_takes_too_long_counts_what_it_waits_for() -> None:
    with Broker(auto_create_topics=False) as broker:
        broker.create_topic("orders")

        async def program() -> None:
            async with AsyncClient(broker.bootstrap, timeout_s=60) as client:
                producer = client.producer()
                stored = await producer.send("orders", "stored")
                await stored.result()
                await producer.send(LATER, "waits")
                with pytest.raises(Unavailable, match=r"^1 records are still on their way"):
                    await producer.flush(timeout_s=0.1)
                broker.create_topic(LATER)

        asyncio.run(program())


@pytest.mark.parametrize(
    "part", [{"value": "x" * 100_000_000}, {"timestamp": 2**70}, {"key": 7}, {"partition": "0"}]
)
def test_what_was_refused_is_not_waited_for(client: Client, topic: str, part: Any) -> None:
    with client.producer() as producer:
        with pytest.raises((InvalidRequest, OverflowError)):
            producer.send(topic, **{"value": 1, **part})
        producer.flush(timeout_s=0.1)
