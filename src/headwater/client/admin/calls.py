"""Waiting for the answers of librdkafka's admin calls."""

from collections.abc import Mapping
from typing import Any, Protocol

from headwater.client.kafka_errors import translated


class Future(Protocol):
    def result(self) -> Any: ...


def answer(future: Future, *, doing: str) -> Any:
    """The result; the call itself carries the timeout, so this ends."""
    with translated(doing):
        return future.result()


def only_answer(futures: Mapping[Any, Future], *, doing: str) -> Any:
    """The result of a call about one thing."""
    (future,) = futures.values()
    return answer(future, doing=doing)
