"""`trim`, `ltrim` and `rtrim` for queries, instead of SQLite's own.

Those compare every character with every character to be removed: with two long texts one call takes
minutes, and nothing can stop a function once it runs.
"""

import sqlite3
from collections.abc import Callable
from functools import partial
from typing import Any, Final

MOST_CHARACTERS: Final = 1000

_TRIMS: Final[dict[str, Callable[[str, str], str]]] = {
    "trim": str.strip,
    "ltrim": str.lstrip,
    "rtrim": str.rstrip,
}


def add_trims(db: sqlite3.Connection) -> None:
    for name, trim in _TRIMS.items():
        for arguments in (1, 2):
            db.create_function(name, arguments, partial(_trimmed, trim), deterministic=True)


def _trimmed(trim: Callable[[str, str], str], value: Any, removed: Any = " ") -> str | None:
    if value is None or removed is None:
        return None
    characters = "".join(set(_text(removed)))
    if len(characters) > MOST_CHARACTERS:
        raise ValueError("too many characters to trim")
    return trim(_text(value), characters) if characters else _text(value)


def _text(value: Any) -> str:
    """As SQLite writes numbers: 7, 7.0, 1.0e+20."""
    match value:
        case str():
            return value
        case bytes():
            return value.decode(errors="replace")
        case float():
            mantissa, _, exponent = f"{value:.15g}".partition("e")
            whole = mantissa if set(mantissa) & set(".n") else f"{mantissa}.0"
            return f"{whole}e{exponent}" if exponent else whole.title()
    return str(value)
