"""Parameters of a query as they stand in a view: `=` and `<` mean there what they mean in Python."""

import math
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

from headwater.errors import InvalidRequest
from headwater.views import parse_type

_EXACT_DIGITS: Final = 15
"""So many are a number in a view; decimals of more digits are text there, which compares exactly."""


def sql_parameter(value: Any) -> str | int | float | None:
    """A JSON value; raises `InvalidRequest` for what no column holds."""
    match value:
        case None | str():
            return value
        case int():  # and a boolean
            return int(value)
        case float() if math.isfinite(value):
            return value
        case Decimal() if value.is_finite():
            return _decimal(value)
        case datetime():
            # As it is read: a time with a zone from a timestamp, one without from a timestamp_ntz.
            name = "timestamp_ntz" if value.tzinfo is None else "timestamp"
            return str(parse_type(name).canonical(value))
        case date():
            return value.isoformat()
        case bytes() | bytearray() | memoryview():
            return str(parse_type("binary").canonical(value))
    raise InvalidRequest(
        f"{_shown(value)} cannot be a parameter of a query",
        hint="give text, a finite number, a Decimal, a date, a datetime, bytes or None",
    )


def _decimal(value: Decimal) -> float | str:
    """Text stands behind all numbers where it is compared with more than a column, as with a sum."""
    number = float(value)
    digits = "".join(map(str, value.as_tuple().digits)).strip("0")
    is_exact = len(digits) <= _EXACT_DIGITS and Decimal(repr(number)) == value
    return number if is_exact else str(value)


def _shown(value: Any) -> str:
    is_number = isinstance(value, float | Decimal)
    return str(value) if is_number else f"an object of type {type(value).__name__}"
