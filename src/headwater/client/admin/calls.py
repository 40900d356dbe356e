"""Waiting for the answers of librdkafka's admin calls."""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from confluent_kafka import KafkaError, KafkaException

from headwater.client.kafka_errors import error_of, translated
from headwater.clock import SystemClock

_ATTEMPTS = 3
_AGAIN_S = 0.1
_NO_COORDINATOR_YET = frozenset(
    {
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    }
)
_CONNECTION_DROPPED = frozenset({"_DESTROY", "_DESTROY_BROKER"})


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


def answer_of_coordinator(
    ask: Callable[[], Mapping[Any, Future]], *, doing: str, timeout_s: float
) -> Any:
    """The result of a call about one group; asks again while the cluster is still choosing who keeps it."""
    clock = SystemClock()
    until_s = clock.monotonic_s() + timeout_s
    while True:
        with translated(doing):
            (future,) = ask().values()
        try:
            return future.result()
        except KafkaException as error:
            is_chosen = error.args[0].code() not in _NO_COORDINATOR_YET
            if is_chosen or clock.monotonic_s() > until_s:
                raise error_of(error, doing=doing) from error
        time.sleep(_AGAIN_S)


def answers(
    names: Iterable[str], ask: Callable[[list[str]], Iterable[Future]], *, doing: str
) -> dict[str, Any]:
    """The results of a call about many things, begun all at once; None for what cannot be known.

    That is a group that is not there, or one whose members do not speak the protocol of consumers:
    librdkafka answers with the same error then as for a bootstrap connection that it has dropped, which
    is why a call is made again. So this is only for calls that may be made twice.
    """
    found: dict[str, Any] = {}
    waiting = list(names)
    for _ in range(_ATTEMPTS):
        with translated(doing):
            futures = list(ask(waiting)) if waiting else []
        dropped = []
        for name, future in zip(waiting, futures, strict=True):
            try:
                found[name] = future.result()
            except KafkaException as error:
                code = error.args[0]
                if code.code() == KafkaError.GROUP_ID_NOT_FOUND:
                    found[name] = None
                elif code.name() in _CONNECTION_DROPPED:
                    dropped.append(name)
                else:
                    raise error_of(error, doing=f"{doing} {name!r}") from error
        waiting = dropped
    return found | dict.fromkeys(waiting)
