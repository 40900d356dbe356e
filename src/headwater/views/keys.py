"""The key of a changelog record: a compact JSON object of the key columns, in the definition's order.

    {"minute":"2026-09-01T10:00:00.000000Z","customer":7}

Compaction compares bytes, so the same key must always be the same bytes.
"""

import json
from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from headwater.errors import InvalidRequest
from headwater.views.definition import View

Key = Mapping[str, Any]
"""Canonical JSON values by column, in the order of the definition."""


def canonical_key(view: View, values: Mapping[str, Any]) -> dict[str, Any]:
    """The key for these values; raises `InvalidRequest` if a column is missing, null or unknown."""
    unknown = [name for name in values if name not in view.key]
    if unknown:
        raise InvalidRequest(
            f"{unknown[0]!r} is not in the key of view {view.name!r}",
            hint=f"its key is {', '.join(view.key)}",
        )
    key = {}
    for column in view.key_columns:
        if values.get(column.name) is None:
            raise InvalidRequest(
                f"the key of view {view.name!r} needs a value for {column.name!r}",
                hint=f"its key is {', '.join(view.key)}",
            )
        key[column.name] = column.type.canonical(values[column.name])
    return key


def encode_key(view: View, values: Mapping[str, Any]) -> bytes:
    """The bytes of a record's key."""
    return json.dumps(
        canonical_key(view, values), separators=(",", ":"), ensure_ascii=False
    ).encode()


def decode_key(view: View, raw: bytes) -> dict[str, Any]:
    """Read a record's key; raises `InvalidRequest` when it is not the key of this view."""
    content = parse_object(raw, "key")
    for column in view.key_columns:
        column.type.read(content.get(column.name), in_any_spelling=True)
    return canonical_key(view, content)


def parse_object(raw: bytes, what: str) -> dict[str, Any]:
    """A JSON object with exact numbers; raises `InvalidRequest`, one clause."""
    try:
        content = json.loads(raw.decode(), parse_float=exact_number, parse_constant=_no_constant)
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"the {what} is not UTF-8") from error
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"the {what} is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise InvalidRequest(f"the {what} is not a JSON object")
    return content


def exact_number(text: str) -> float | Decimal:
    """A decimal with more digits than a double keeps stays exact; raises `ValueError` beyond all bounds."""
    number = float(text)
    if len(text) <= 15:
        return number
    try:
        exact = Decimal(text)
    except InvalidOperation as error:
        raise ValueError(f"{text[:20]}... is a number beyond all bounds") from error
    return number if Decimal(repr(number)) == exact else exact


def _no_constant(name: str) -> float:
    """Python reads NaN and Infinity without quotes; JSON does not have them."""
    raise ValueError(name)
