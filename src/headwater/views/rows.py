"""The value of a changelog record: a JSON object of all columns; null columns may be left out.

Key columns come first and in the order of the key: then a follower sees with one look at the bytes that
key and value belong together.
"""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from headwater.errors import InvalidRequest
from headwater.views.definition import View
from headwater.views.keys import canonical_key


def encode_row(view: View, values: Mapping[str, Any]) -> bytes:
    """The bytes of a record's value; raises `InvalidRequest` for what does not fit its column."""
    unknown = [name for name in values if name not in view.by_name]
    if unknown:
        raise InvalidRequest(f"view {view.name!r} has no column {unknown[0]!r}")
    row = canonical_key(view, {name: values.get(name) for name in view.key})
    for column in view.columns:
        if column.name not in row:
            row[column.name] = column.type.canonical(values.get(column.name))
        if row[column.name] is None and not column.is_nullable:
            raise InvalidRequest(f"{column.name} is null or missing")
    return json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode()


def decode_row(view: View, raw: bytes) -> dict[str, Any]:
    """Read a record's value: canonical, every column there, in the order of the definition."""
    try:
        content = json.loads(raw, parse_float=exact_number)
    except (ValueError, RecursionError) as error:
        raise InvalidRequest(f"the value is not JSON: {error}") from error
    if not isinstance(content, dict):
        raise InvalidRequest("the value is not a JSON object")
    return {each.name: each.type.canonical(content.get(each.name)) for each in view.columns}


def exact_number(text: str) -> float | Decimal:
    """A decimal with more digits than a double keeps stays exact."""
    number = float(text)
    return (
        number
        if len(text) <= 15
        else Decimal(text)
        if Decimal(repr(number)) != Decimal(text)
        else number
    )
