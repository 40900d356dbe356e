"""Records as JSON: for reading (`tail --json`), and exactly, so that `import` restores every byte.

`value` is the JSON value, or text when it is not JSON. Where that is not enough to get the same
bytes back, an exact line adds `value_text` or `value_base64`, and the reader prefers those.
"""

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import Any

from headwater.client.record import Record

Header = tuple[str, bytes | None]


def as_json(content: Any) -> str:
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


@dataclass(frozen=True, slots=True)
class Line:
    """A record as it stands in a file: where it was, and its exact bytes."""

    partition: int | None
    offset: int | None
    timestamp_ms: int | None
    key: bytes | None
    value: bytes | None
    headers: tuple[Header, ...]


def readable(record: Record) -> dict[str, Any]:
    """For people and jq: `.value.total` works whenever the value is JSON."""
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp_ms": record.timestamp_ms,
        **_text_field("key", record.key_bytes),
        "value": readable_value(record.raw_value),
        **({"value_base64": _base64(record.raw_value)} if not _is_text(record.raw_value) else {}),
        "headers": [_header(name, value) for name, value in record.headers],
    }


def exact(record: Record) -> dict[str, Any]:
    """The same, with what it takes to restore the value byte by byte."""
    line = readable(record)
    raw = record.raw_value
    if raw is None or "value_base64" in line:
        return line
    # JSON null alone would read as a tombstone.
    is_exact = line["value"] is not None and as_json(line["value"]).encode() == raw
    return line if is_exact else {**line, "value_text": raw.decode()}


def parse_exact(text: str) -> Line:
    """A line written by `exact`, or by hand; raises ValueError when it is neither."""
    line = json.loads(text)
    if not isinstance(line, dict) or "value" not in line:
        message = 'a line must be an object with at least "value"'
        raise ValueError(message)
    return Line(
        partition=_integer(line, "partition"),
        offset=_integer(line, "offset"),
        timestamp_ms=_integer(line, "timestamp_ms"),
        key=_bytes_of(line, "key"),
        value=_value_of(line),
        headers=tuple(_parse_header(header) for header in line.get("headers") or ()),
    )


def readable_value(raw: bytes | None) -> Any:
    """The JSON value; text when it is not JSON; None when it is not even text."""
    if raw is None or not _is_text(raw):
        return None
    text = raw.decode()
    try:
        value = json.loads(text)
        as_json(value).encode()  # NaN, 1e400 and half surrogate pairs parse, but are not JSON
    except (ValueError, RecursionError):
        return text
    return value


def _value_of(line: dict[str, Any]) -> bytes | None:
    if "value_base64" in line or "value_text" in line:
        text = line.get("value_text")
        return text.encode() if isinstance(text, str) else b64decode(line["value_base64"])
    return None if line["value"] is None else as_json(line["value"]).encode()


def _text_field(name: str, raw: bytes | None) -> dict[str, Any]:
    if _is_text(raw):
        return {name: None if raw is None else raw.decode()}
    return {name: None, f"{name}_base64": _base64(raw)}


def _bytes_of(line: dict[str, Any], name: str) -> bytes | None:
    encoded = line.get(f"{name}_base64")
    if encoded is not None:
        return b64decode(encoded)
    text = line.get(name)
    return None if text is None else str(text).encode()


def _header(name: str, value: bytes | None) -> dict[str, Any]:
    return {"name": name, **_text_field("value", value)}


def _parse_header(header: Any) -> Header:
    try:
        return str(header["name"]), _bytes_of(header, "value")
    except (KeyError, TypeError) as error:
        message = 'a header must be an object with "name" and "value"'
        raise ValueError(message) from error


def _integer(line: dict[str, Any], name: str) -> int | None:
    value = line.get(name)
    if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
        message = f"{name} is not a number"
        raise ValueError(message)
    return value


def _is_text(raw: bytes | None) -> bool:
    if raw is None:
        return True
    try:
        raw.decode()
    except UnicodeDecodeError:
        return False
    return True


def _base64(raw: bytes | None) -> str:
    return b64encode(raw or b"").decode()
