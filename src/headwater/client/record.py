"""What is read and what is confirmed: a record with its place in the log, and a receipt."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from headwater.errors import InvalidRequest

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Headers = Mapping[str, str | bytes | None] | Sequence[tuple[str, str | bytes | None]]
"""Headers as a caller gives them; a sequence keeps order and repeated names."""


@dataclass(frozen=True, slots=True)
class Record:
    """One record of a topic.

    `key` is text; bytes that are not UTF-8 are kept by surrogate escapes, so `key_bytes` is always
    exactly what was produced. `value` is decoded by `value_format`; None is a tombstone.
    """

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: str | None
    value: Any
    headers: tuple[tuple[str, bytes | None], ...]
    raw_value: bytes | None = field(repr=False)

    @property
    def timestamp(self) -> datetime:
        return datetime_of(self.timestamp_ms)

    @property
    def key_bytes(self) -> bytes | None:
        return None if self.key is None else encode_text(self.key)

    def header(self, name: str) -> bytes | None:
        """The last value under this name; None when there is none."""
        return next((value for key, value in reversed(self.headers) if key == name), None)


@dataclass(frozen=True, slots=True)
class Receipt:
    """The broker has stored the record here, durably."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int

    @property
    def timestamp(self) -> datetime:
        return datetime_of(self.timestamp_ms)


def encode_text(text: str, errors: str = "surrogateescape") -> bytes:
    try:
        return text.encode("utf-8", errors)
    except UnicodeEncodeError as error:
        raise InvalidRequest(
            what=f"text with {text[error.start]!r}, half of a character, cannot be written as UTF-8",
            hint="pass the whole character, or bytes",
        ) from error


def decode_text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def datetime_of(timestamp_ms: int) -> datetime:
    return EPOCH + timedelta(milliseconds=timestamp_ms)


def milliseconds_of(moment: datetime | int) -> int:
    """Milliseconds since the epoch; a datetime without a zone is local time, as Python reads it."""
    if isinstance(moment, int):
        return moment
    if not isinstance(moment, datetime):
        raise InvalidRequest(
            what=f"a time is a datetime or whole milliseconds since 1970, not {moment!r}",
            hint="for example datetime.now(UTC), or int(time.time() * 1000)",
        )
    return (moment.astimezone(UTC) - EPOCH) // timedelta(milliseconds=1)
