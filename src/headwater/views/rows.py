"""The value of a changelog record: a JSON object of all columns; null columns may be left out.

Key columns come first and in the order of the key: then a follower sees with one look at the bytes that
key and value belong together.
"""

import json
from collections.abc import Mapping
from typing import Any

from headwater.errors import InvalidRequest
from headwater.views.definition import Column, View
from headwater.views.keys import canonical_key, parse_object


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
    """Read a record's value: canonical, every column there, in the order of the definition.

    Raises `InvalidRequest`, one clause, for what does not fit: this is what every store must reject.
    """
    content = parse_object(raw, "value")
    return {each.name: _read(view, each, content.get(each.name)) for each in view.columns}


def encode_canonical(view: View, row: Mapping[str, Any]) -> bytes:
    """The bytes of a value for a row that `decode_row` has read."""
    key_first = {name: row[name] for name in view.key} | dict(row)
    return json.dumps(key_first, separators=(",", ":"), ensure_ascii=False).encode()


def _read(view: View, column: Column, value: Any) -> Any:
    if value is None and not column.is_nullable:
        raise InvalidRequest(f"{column.name} is null or missing")
    try:
        return column.type.read(value, in_any_spelling=column.name in view.key)
    except InvalidRequest as error:
        raise InvalidRequest(f"{column.name} is not a {column.type.name}") from error
