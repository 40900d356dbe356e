"""Failures that come on another thread than the one that asks for them: each is told, none twice."""

import sys
from collections.abc import Callable
from functools import partial
from itertools import count
from types import FrameType
from typing import Any

import pytest
from confluent_kafka import KafkaError

from headwater.client import Delivery, Producer
from headwater.client import producer as module
from headwater.client.address import Address
from headwater.client.connection import Connection
from headwater.errors import HeadwaterError

FAILURE = KafkaError(KafkaError._MSG_TIMED_OUT)
STEPS = range(200)
"""More than any call here has."""


class Message:
    def topic(self) -> str:
        return "orders"


@pytest.fixture
def producer() -> Producer:
    return Producer(Connection(Address("127.0.0.1:1", "given"), timeout_s=30))


def fail(delivery: Delivery) -> None:
    delivery._settle(FAILURE, Message())


def told_by_flush(producer: Producer) -> int:
    try:
        producer.flush()
    except HeadwaterError as error:
        many, is_many, _ = error.what.partition(" records were not delivered")
        return int(many) if is_many else 1
    return 0


def told_by_delivery(delivery: Delivery) -> int:
    if not delivery.done:
        return 0
    with pytest.raises(HeadwaterError):
        delivery.result()
    return 1


def interrupt(call: Callable[[], Any], turn: Callable[[], Any], step: int) -> tuple[Any, Any]:
    """What the two return if another thread takes its turn before this step of the call, or after it."""
    steps, returned = count(), []

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if frame.f_code.co_filename != module.__file__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode" and next(steps) == step:
            sys.settrace(None)
            returned.append(turn())
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        outcome = call()
    finally:
        sys.settrace(before)
    return outcome, returned[0] if returned else turn()


def test_a_failure_that_its_delivery_raised_is_not_raised_by_flush(producer: Producer) -> None:
    for step in STEPS:
        delivery = Delivery(producer)
        _, told = interrupt(partial(fail, delivery), partial(told_by_delivery, delivery), step)
        assert told + told_by_flush(producer) == 1


def test_a_failure_that_comes_while_flush_looks_for_some_is_told(producer: Producer) -> None:
    for step in STEPS:
        _, told = interrupt(
            partial(fail, Delivery(producer)), partial(told_by_flush, producer), step
        )
        assert told + told_by_flush(producer) == 1


def test_a_failure_that_comes_while_flush_raises_others_is_told(producer: Producer) -> None:
    for step in STEPS:
        fail(Delivery(producer))
        told, _ = interrupt(
            partial(told_by_flush, producer), partial(fail, Delivery(producer)), step
        )
        assert told + told_by_flush(producer) == 2
