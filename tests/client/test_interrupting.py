"""Ctrl-C while librdkafka calls back: a KeyboardInterrupt, not what its binding makes of it.

Before Python 3.12 the binding loses one that meets a callback, and a SystemError is all that is left.
"""

import signal
from collections.abc import Callable, Iterator

import pytest

import headwater
from headwater.client import Producer
from headwater.client.address import Address
from headwater.client.connection import Connection
from rigs.headwater_process import HeadwaterProcess

Callback = Callable[[object], object]


@pytest.fixture
def press_ctrl_c() -> Iterator[Callback]:
    """As a callback: the moment that loses it. Pressed once, not again while all is closed."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    presses = iter([signal.SIGINT])
    yield lambda _: [signal.raise_signal(each) for each in presses]
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("reading", ["next", "poll"])
def test_a_reader_whose_broker_is_away_is_interrupted(press_ctrl_c: Callback, reading: str) -> None:
    with HeadwaterProcess({}) as broker, headwater.connect(broker.bootstrap) as client:
        client.admin.topics.create("t", partitions=1)
        records = client.consumer("t", options={"error_cb": press_ctrl_c})
        broker.kill()
        with pytest.raises(KeyboardInterrupt):
            next(records) if reading == "next" else records.poll(max_wait_s=60)


@pytest.mark.parametrize(
    "waiting",
    [
        lambda producer: producer.send("t", 1).result(),
        lambda producer: (producer.send("t", 1), producer.flush()),
        lambda producer: [producer.send("t", number) for number in iter(int, 1)],
    ],
    ids=["result", "flush", "send"],
)
def test_a_sender_is_interrupted(
    press_ctrl_c: Callback, waiting: Callable[[Producer], object]
) -> None:
    connection = Connection(Address("127.0.0.1:1", "given"), timeout_s=30)
    options = {"error_cb": press_ctrl_c, "queue.buffering.max.messages": 1000}
    producer = Producer(connection, options=options)
    with pytest.raises(KeyboardInterrupt):
        waiting(producer)
