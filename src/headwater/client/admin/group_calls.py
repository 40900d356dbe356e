"""Calls that the coordinator of a group answers, on a client of their own.

librdkafka ends the whole process when such a call reaches its time limit while the coordinator is looked
for, so it is given none that matters: who has waited long enough gives up the client, and all that waits in
it. Nothing is then carried out long after it was asked for, either.
"""

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from headwater.client.connection import Connection
from headwater.client.kafka_errors import error_of, translated
from headwater.clock import SystemClock

WITHOUT_LIMIT_S: Final = 3600.0
"""What each call is to give librdkafka as its limit: the longest there is."""
_ATTEMPTS: Final = 3
_AGAIN_S: Final = 0.1
_NO_COORDINATOR_YET: Final = frozenset(
    {
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    }
)
_CONNECTION_DROPPED: Final = frozenset({"_DESTROY", "_DESTROY_BROKER"})


class Future(Protocol):
    def result(self, timeout: float) -> Any: ...


class GroupCalls:
    """From any thread."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._clock = SystemClock()
        self._lock = threading.Lock()
        self._kafka: AdminClient | None = None

    def one(self, ask: Callable[[AdminClient], Mapping[Any, Future]], *, doing: str) -> Any:
        """The result of a call about one group; asks again while the cluster is choosing who keeps it."""
        until_s = self._until_s()
        while True:
            kafka = self._client(doing)
            with translated(doing):
                (future,) = ask(kafka).values()
            try:
                return self._result(kafka, future, until_s)
            except KafkaException as error:
                is_chosen = error.args[0].code() not in _NO_COORDINATOR_YET
                if is_chosen or self._clock.monotonic_s() > until_s:
                    raise error_of(error, doing=doing) from error
            time.sleep(_AGAIN_S)

    def all(
        self,
        names: Iterable[str],
        ask: Callable[[AdminClient, list[str]], Iterable[Future]],
        *,
        doing: str,
    ) -> dict[str, Any]:
        """The results of a call about many groups, begun all at once; None for what cannot be known.

        That is a group that is not there, or one whose members do not speak the protocol of consumers:
        librdkafka answers with the same error then as for a bootstrap connection that it has dropped,
        which is why a call is made again. So this is only for calls that may be made twice.
        """
        until_s = self._until_s()
        found: dict[str, Any] = {}
        waiting = list(names)
        for _ in range(_ATTEMPTS):
            if not waiting:
                break
            kafka = self._client(doing)
            with translated(doing):
                futures = list(ask(kafka, waiting))
            dropped = []
            for name, future in zip(waiting, futures, strict=True):
                try:
                    found[name] = self._result(kafka, future, until_s)
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

    def _until_s(self) -> float:
        return self._clock.monotonic_s() + self._connection.timeout_s

    def _client(self, doing: str) -> AdminClient:
        with self._lock, translated(doing):
            if self._kafka is None:
                self._kafka = AdminClient(self._connection.settings())
            return self._kafka

    def _result(self, kafka: AdminClient, future: Future, until_s: float) -> Any:
        """Raises what librdkafka says, also that the time is over."""
        try:
            return future.result(max(0.0, until_s - self._clock.monotonic_s()))
        except TimeoutError:
            with self._lock:
                if self._kafka is kafka:
                    self._kafka = None
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT)) from None  # noqa: SLF001
