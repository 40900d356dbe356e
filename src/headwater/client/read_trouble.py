"""What goes wrong while reading: errors that end it, and a broker that is gone for a while."""

import logging
from typing import Any

from confluent_kafka import KafkaError

from headwater.client.kafka_errors import translate
from headwater.client.log_offsets import LogOffsets
from headwater.clock import Clock
from headwater.errors import OffsetOutOfRange, Unavailable

_log = logging.getLogger("headwater.client")


class ReadTrouble:
    """Raises what a reader must know; librdkafka deals with the rest by itself."""

    def __init__(
        self, doing: str, group: str | None, log: LogOffsets, timeout_s: float, clock: Clock
    ) -> None:
        self._doing = doing
        self._group = group
        self._log = log
        self._timeout_s = timeout_s
        self._clock = clock
        self._unreachable_since: float | None = None

    def take(self, message: Any) -> None:
        """Look at a message that is an error."""
        error = message.error()
        code = error.code()
        if code == KafkaError._AUTO_OFFSET_RESET:  # noqa: SLF001
            raise self._out_of_range(message)
        if code == KafkaError._MAX_POLL_EXCEEDED:  # noqa: SLF001
            _log.warning(
                "a body took longer than max.poll.interval.ms: its partitions were given away"
            )
        elif error.fatal() or not (error.retriable() or _is_about_connections(code)):
            raise translate(error, doing=self._doing)
        else:
            self.note(error)

    def note(self, error: KafkaError) -> None:
        """Remember since when the broker cannot be reached."""
        if _is_about_connections(error.code()) and self._unreachable_since is None:
            self._unreachable_since = self._clock.monotonic_s()

    def note_answer(self) -> None:
        """The broker is there."""
        self._unreachable_since = None

    def raise_if_gone_for_long(self) -> None:
        since = self._unreachable_since
        if since is not None and self._clock.monotonic_s() - since > self._timeout_s:
            raise Unavailable(
                what=f"cannot {self._doing}: the broker has been gone for {self._timeout_s:.0f} s",
                hint="what was read so far is complete; run it again when the broker is back",
            )

    def _out_of_range(self, message: Any) -> OffsetOutOfRange:
        place = (message.topic(), message.partition())
        _, end = self._log.ranges([place])[place]
        if message.offset() > end:
            there = "end"
            what = f"offset {message.offset()} is not in the log, which ends at {end}"
        else:
            there = "start"
            what = (
                "the position to read from is not in the log: retention or trim removed its "
                "records, or the topic was made anew"
            )
        return OffsetOutOfRange(
            what=f"{place[0]}/{place[1]}: {what}",
            hint=f"choose where to go on: headwater group seek {self._group} --to {there}"
            if self._group
            else f"begin at the {there} of the log: {there!r} is a position too",
        )


def _is_about_connections(code: int) -> bool:
    return code in (
        KafkaError._ALL_BROKERS_DOWN,  # noqa: SLF001
        KafkaError._TRANSPORT,  # noqa: SLF001
        KafkaError._RESOLVE,  # noqa: SLF001
        KafkaError._TIMED_OUT,  # noqa: SLF001
    )
