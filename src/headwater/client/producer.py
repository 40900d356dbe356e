"""Sending records in batches: `send` returns at once, `flush` waits, no failure is dropped.

Invariant: a record accepted by `send` ends as a receipt or as an error which the caller gets from
`Delivery.result()`, from `flush()` or from leaving the with-block.
"""

from collections.abc import Callable
from datetime import datetime
from types import TracebackType
from typing import Any, Self

import confluent_kafka

from headwater.client.connection import PRODUCING, Connection, Options
from headwater.client.kafka_errors import refusal_of, translate, translated
from headwater.client.record import Headers, Receipt, encode_text, milliseconds_of
from headwater.client.value_format import FormatName, value_format
from headwater.clock import Clock, SystemClock
from headwater.errors import HeadwaterError, InvalidRequest, Unavailable

_ANY_PARTITION = -1
_NOW = 0
"""What librdkafka takes for "no timestamp given"."""
_POLL_S = 0.05

OnDelivery = Callable[[confluent_kafka.KafkaError | None, Any], None]


class Delivery:
    """One record on its way: `result()` waits for its receipt or raises why it was not stored."""

    __slots__ = ("_error", "_producer", "_receipt")

    def __init__(self, producer: "Producer") -> None:
        self._producer = producer
        self._receipt: Receipt | None = None
        self._error: HeadwaterError | None = None

    @property
    def done(self) -> bool:
        return self._receipt is not None or self._error is not None

    def result(self, timeout_s: float | None = None) -> Receipt:
        """Wait for the broker's answer; a failure raised here is not raised again by `flush()`."""
        self._producer._wait(self, timeout_s)  # noqa: SLF001  the two classes are one mechanism
        if self._error is not None:
            self._producer._forget_failure(self)  # noqa: SLF001
            raise self._error
        assert self._receipt is not None
        return self._receipt

    def _settle(self, error: confluent_kafka.KafkaError | None, message: Any) -> None:
        try:
            if error is None:
                self._receipt = Receipt(
                    message.topic(), message.partition(), message.offset(), message.timestamp()[1]
                )
                return
            failure = translate(error, doing=f"deliver a record to {message.topic()!r}")
            # In this order: who sees it here, on another thread, tells the producer to forget it.
            self._producer._note_failure(self, failure)  # noqa: SLF001
            self._error = failure
        finally:  # whatever interrupts it: who flushes must not wait for it any more
            self._producer._under_way.discard(self)  # noqa: SLF001


class Producer:
    """Batches records in the background; idempotent and acknowledged by all replicas.

    `send` blocks when too much is under way (back-pressure), for at most the connection's timeout.
    Leaving the with-block flushes, and raises if any record could not be delivered.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        value_format_name: FormatName = "json",
        linger_ms: float = 5,
        options: Options | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._timeout_s = connection.timeout_s
        self._format = value_format(value_format_name)
        self._clock = clock or SystemClock()
        self._under_way: set[Delivery] = set()
        """Accepted by `send`, without an answer yet. Threads add to it and take from it without a lock."""
        self._failed: dict[Delivery, HeadwaterError] = {}
        self.is_closed = False
        timeouts = {
            "linger.ms": linger_ms,
            "message.timeout.ms": int(max(connection.timeout_s * 1000, linger_ms + 1)),
        }
        with translated("create a producer"):
            self._kafka = confluent_kafka.Producer(
                connection.settings(PRODUCING, timeouts, options or {})
            )

    def send(
        self,
        topic: str,
        value: Any,
        *,
        key: str | bytes | None = None,
        headers: Headers | None = None,
        timestamp: datetime | int | None = None,
        partition: int | None = None,
    ) -> Delivery:
        """Queue one record; returns before it is stored. `value=None` is a tombstone.

        `timestamp` is when it happened (now, if left out): a datetime, or milliseconds since 1970. It
        cannot be 0, the first moment of 1970.
        """
        delivery = Delivery(self)
        arguments = self._arguments(topic, value, key, headers, timestamp, partition)
        deadline = self._clock.monotonic_s() + self._timeout_s
        while not self._offer(arguments, delivery, delivery._settle):  # noqa: SLF001
            self._wait_for_room(topic, deadline)
        return delivery

    def flush(self, timeout_s: float | None = None) -> None:
        """Wait until every record sent so far is stored; raise if one was not.

        What other threads send meanwhile is not waited for.
        """
        self._drain(self._under_way.copy(), timeout_s)
        self._raise_failures()

    def close(self) -> None:
        """The same as `flush`; nothing can be sent afterwards."""
        self.is_closed = True
        self._drain(None)
        self._raise_failures()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self.close()
        except HeadwaterError as undelivered:
            if error is None:
                raise
            error.add_note(f"and while leaving: {undelivered}")

    def _arguments(
        self,
        topic: str,
        value: Any,
        key: str | bytes | None,
        headers: Headers | None,
        timestamp: datetime | int | None,
        partition: int | None,
    ) -> dict[str, Any]:
        """A record as librdkafka takes it."""
        self._refuse_if_closed()
        return {
            "topic": topic,
            "value": None if value is None else self._format.encode(value),
            "key": encode_text(key) if isinstance(key, str) else key,
            "partition": _ANY_PARTITION if partition is None else partition,
            "timestamp": _NOW if timestamp is None else _timestamp_ms(timestamp),
            "headers": _encode_headers(headers) if headers else None,
        }

    def _refuse_if_closed(self) -> None:
        if self.is_closed:
            raise InvalidRequest(what="the producer is closed", hint="send inside its with-block")

    def _offer(
        self, arguments: dict[str, Any], delivery: Delivery, on_delivery: OnDelivery
    ) -> bool:
        """Whether there was room for the record."""
        try:
            self._hand_over(arguments, delivery, on_delivery)
            self._kafka.poll(0)
        except BufferError:
            return False
        except SystemError as error:
            raise KeyboardInterrupt from error  # as in `translated`, without its cost per record
        except (confluent_kafka.KafkaException, ValueError, TypeError) as error:
            _refuse_key(arguments["key"])
            raise refusal_of(error, doing=f"send to {arguments['topic']!r}") from error
        return True

    def _hand_over(
        self, arguments: dict[str, Any], delivery: Delivery, on_delivery: OnDelivery
    ) -> None:
        try:
            # Before it is: its answer may come at once, on another thread.
            self._under_way.add(delivery)
            self._kafka.produce(**arguments, on_delivery=on_delivery)
        except BaseException:
            self._under_way.discard(delivery)
            raise

    def _refuse_to_wait(self, topic: str) -> Unavailable:
        return Unavailable(
            what=f"cannot send to {topic!r}: {len(self._kafka)} records wait for the broker",
            hint="is the broker reachable and its disk fast enough? see: headwater status",
        )

    def _wait_for_room(self, topic: str, deadline: float) -> None:
        if self._clock.monotonic_s() > deadline:
            raise self._refuse_to_wait(topic)
        with translated(f"send to {topic!r}"):
            self._kafka.poll(_POLL_S)

    def _wait(self, delivery: Delivery, timeout_s: float | None) -> None:
        limit_s = None if timeout_s is None else self._clock.monotonic_s() + timeout_s
        while not delivery.done:
            with translated("wait for a receipt"):
                self._kafka.poll(_POLL_S)
            if limit_s is not None and self._clock.monotonic_s() > limit_s and not delivery.done:
                raise Unavailable(
                    what=f"the record has no answer after {timeout_s} s",
                    hint="it may still arrive: ask again, or flush()",
                )

    def _drain(self, deliveries: set[Delivery] | None, timeout_s: float | None = None) -> None:
        """Wait until each of these records has an answer, or every one that librdkafka has."""
        limit_s = None if timeout_s is None else self._clock.monotonic_s() + timeout_s
        # Every record ends within message.timeout.ms, so this loop ends without a limit of its own.
        while count := len(self._kafka if deliveries is None else deliveries & self._under_way):
            if limit_s is not None and self._clock.monotonic_s() > limit_s:
                raise Unavailable(
                    what=f"{count} records are still on their way after {timeout_s} s",
                    hint="call flush() again, or wait longer",
                )
            with translated("flush"):
                self._kafka.flush(_POLL_S)

    def _note_failure(self, delivery: Delivery, failure: HeadwaterError) -> None:
        self._failed[delivery] = failure

    def _forget_failure(self, delivery: Delivery) -> None:
        self._failed.pop(delivery, None)

    def _raise_failures(self) -> None:
        # One by one: what other threads note or forget meanwhile is neither lost nor told twice.
        taken = [self._failed.pop(delivery, None) for delivery in list(self._failed)]
        errors = [error for error in taken if error is not None]
        if not errors:
            return
        first = errors[0]
        if len(errors) == 1:
            raise first
        raise type(first)(
            what=f"{len(errors)} records were not delivered; the first: {first.what}",
            hint=first.hint,
        )


def _timestamp_ms(moment: datetime | int) -> int:
    timestamp_ms = milliseconds_of(moment)
    if timestamp_ms == _NOW:
        raise InvalidRequest(
            what="a record cannot be sent with timestamp 0, the first moment of 1970",
            hint="leave it out for the time of sending, or give 1, a millisecond later",
        )
    return timestamp_ms


def _refuse_key(key: object) -> None:
    if key is not None and not isinstance(key, str | bytes | bytearray | memoryview):
        raise InvalidRequest(
            what=f"a key is text or bytes, not {type(key).__name__}", hint="for example str(key)"
        )


def _encode_headers(headers: Headers) -> list[tuple[str, bytes | None]]:
    pairs = headers.items() if hasattr(headers, "items") else headers
    try:
        return [(_checked_name(name), _header_value(name, value)) for name, value in pairs]
    except (TypeError, ValueError) as error:
        raise InvalidRequest(
            what="headers are pairs of a name and a value", hint='for example {"source": "shop"}'
        ) from error


def _header_value(name: str, value: str | bytes | None) -> bytes | None:
    if isinstance(value, str):
        return encode_text(value)
    if value is not None and not isinstance(value, bytes):
        raise InvalidRequest(
            what=f"the value of header {name!r} is text or bytes, not {type(value).__name__}",
            hint="for example str(value)",
        )
    return value


def _checked_name(name: str) -> str:
    """The binding takes names as text, and crashes on one that is not UTF-8."""
    text = str(name)
    encode_text(text, errors="strict")
    return text
