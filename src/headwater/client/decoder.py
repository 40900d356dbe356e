"""From librdkafka's message to a record; what happens to a value that is not in its format.

Nothing unreadable is passed over unless the reader said so: a record is returned, handled, or raised.
"""

import logging
from collections.abc import Callable, Sequence
from typing import Any, Literal

from headwater.client.record import Record, decode_text
from headwater.client.value_format import ValueFormat
from headwater.errors import InvalidRequest, UnreadableValue

OnBad = Literal["raise", "skip"] | Callable[[Record, UnreadableValue], None]
"""What to do with a value that cannot be decoded: stop there, go on, or hand it over."""

_log = logging.getLogger("headwater.client")


class Decoder:
    def __init__(self, value_format: ValueFormat, on_bad: OnBad) -> None:
        if on_bad not in ("raise", "skip") and not callable(on_bad):
            raise InvalidRequest(
                what=f"on_bad is {on_bad!r}, which says nothing about a value that is unreadable",
                hint='use "raise", "skip" or a function of (record, error)',
            )
        self._format = value_format
        self._on_bad = on_bad

    def decode(self, message: Any) -> Record | None:
        """The record; None when its value is unreadable and that has been dealt with."""
        raw = message.value()
        try:
            return _record_of(message, None if raw is None else self._format.decode(raw))
        except ValueError as reason:
            error = _unreadable(message, self._format.name, reason)
        if self._on_bad == "raise":
            raise error
        if self._on_bad == "skip":
            _log.warning("skipped: %s", error.what)
        else:
            self._on_bad(_record_of(message, None), error)
        return None


def _record_of(message: Any, value: Any) -> Record:
    key = message.key()
    headers: Sequence[tuple[str, bytes | None]] = message.headers() or ()
    return Record(
        topic=message.topic(),
        partition=message.partition(),
        offset=message.offset(),
        timestamp_ms=message.timestamp()[1],
        key=None if key is None else decode_text(key),
        value=value,
        headers=tuple(headers),
        raw_value=message.value(),
    )


def _unreadable(message: Any, format_name: str, reason: ValueError) -> UnreadableValue:
    place = f"{message.topic()}/{message.partition()} offset {message.offset()}"
    return UnreadableValue(
        what=f"{place}: the value is not {format_name} ({reason})",
        hint='pass on_bad="skip" or a function to go on, or value_format="bytes"',
    )
