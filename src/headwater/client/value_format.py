"""How a value becomes bytes and back: `json` (the default), `str` or `bytes`.

None is never encoded: it is Kafka's null value, a tombstone.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from headwater.client.record import decode_text, encode_text
from headwater.errors import InvalidRequest

FormatName = Literal["json", "str", "bytes"]


@dataclass(frozen=True, slots=True)
class ValueFormat:
    name: str
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]
    """Raises ValueError when the bytes are not in this format."""


def value_format(name: str) -> ValueFormat:
    found = _FORMATS.get(name)
    if found is None:
        raise InvalidRequest(
            what=f"there is no value format {name!r}",
            hint=f"use one of {', '.join(_FORMATS)}",
        )
    return found


def _encode_json(value: Any) -> bytes:
    try:
        return json.dumps(
            value, separators=(",", ":"), ensure_ascii=False, allow_nan=False
        ).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidRequest(
            what=f"a value of type {type(value).__name__} cannot be written as JSON: {error}",
            hint='pass JSON values, or use value_format="bytes" and encode it yourself',
        ) from error


def _decode_json(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except RecursionError as error:
        message = "it is nested too deeply"
        raise ValueError(message) from error


def _encode_str(value: Any) -> bytes:
    if not isinstance(value, str):
        raise InvalidRequest(
            what=f"value_format is 'str' but the value is a {type(value).__name__}",
            hint='pass a str, or use value_format="json"',
        )
    return encode_text(value)


def _encode_bytes(value: Any) -> bytes:
    if not isinstance(value, bytes | bytearray | memoryview):
        raise InvalidRequest(
            what=f"value_format is 'bytes' but the value is a {type(value).__name__}",
            hint='pass bytes, or use value_format="json"',
        )
    return bytes(value)


_FORMATS = {
    "json": ValueFormat("json", _encode_json, _decode_json),
    "str": ValueFormat("str", _encode_str, decode_text),
    "bytes": ValueFormat("bytes", _encode_bytes, bytes),
}
