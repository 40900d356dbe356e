"""Offsets as librdkafka tells them, and as it does not."""

from collections.abc import Iterable
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import OFFSET_INVALID

from headwater.client.log_offsets import LogOffsets
from headwater.errors import Unavailable
from headwater.testing import SettableClock


class Librdkafka:
    """Answers with these offsets, one after the other."""

    def __init__(self, clock: SettableClock, offsets: Iterable[int]) -> None:
        self._clock = clock
        self._offsets = iter(offsets)

    def list_offsets(self, request: dict[Any, Any], **_: Any) -> dict[Any, Future[Any]]:
        futures: dict[Any, Future[Any]] = {each: Future() for each in request}
        for each in futures.values():
            each.set_result(SimpleNamespace(offset=next(self._offsets)))
        return futures

    def poll(self, timeout_s: float) -> None:
        self._clock.advance(seconds=timeout_s)


def log_offsets(*offsets: int) -> LogOffsets:
    clock = SettableClock()
    kafka: Any = Librdkafka(clock, offsets)
    return LogOffsets(kafka, timeout_s=1, clock=clock)


def test_a_broker_that_goes_while_it_is_asked_has_not_answered() -> None:
    """Or a topic ends before it begins: a bounded read is done at once, a reader is past the end."""
    assert log_offsets(OFFSET_INVALID, OFFSET_INVALID, 7).ends([("t", 0)]) == {("t", 0): 7}


def test_a_broker_that_never_answers_is_away() -> None:
    with pytest.raises(Unavailable):
        log_offsets(*[OFFSET_INVALID] * 1000).ends([("t", 0)])
