"""Column types by Spark's simple names, and how a value of each stands in JSON.

A *canonical* value is the JSON scalar of the contract: text for dates, times, decimals and binary, numbers
for numbers. Canonical text of dates and times sorts as the moments do.
"""

import json
import math
import re
from base64 import b64decode, b64encode
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from typing import Any, Final, Literal

from headwater.errors import InvalidRequest

Kind = Literal[
    "boolean",
    "integer",
    "floating",
    "decimal",
    "string",
    "binary",
    "date",
    "timestamp",
    "timestamp_ntz",
    "json",
]

_INTEGER_BITS: Final = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
_SIMPLE: Final[dict[str, Kind]] = {
    "boolean": "boolean",
    **dict.fromkeys(_INTEGER_BITS, "integer"),
    "float": "floating",
    "double": "floating",
    "string": "string",
    "binary": "binary",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
}
_DECIMAL: Final = re.compile(r"decimal\((\d+),\s*(-?\d+)\)")
_NESTED: Final = re.compile(r"(array|map|struct)<.*>", re.DOTALL)
_NOT_FINITE: Final = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_MOMENTS: Final = ("date", "timestamp", "timestamp_ntz")
_NUMBER: Final = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
_WHOLE_NUMBER: Final = re.compile(r"-?\d+", re.ASCII)
_FINER: Final = re.compile(r"[.,]\d{6}\d*[1-9]", re.ASCII)
_HALF_PAIR: Final = re.compile("[\ud800-\udfff]")
_NUL_IN_JSON: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
MOST_DIGITS: Final = 100
"""A decimal has fewer."""
_EXACT: Final = Context(prec=MOST_DIGITS)
_EXACT_AS_FLOAT: Final = 15
"""A decimal of so many digits may be kept as floating point, and comes back as it was."""


@dataclass(frozen=True, slots=True)
class ColumnType:
    """One type: `name` as Spark writes it, `kind` for what it does here."""

    name: str
    kind: Kind
    bits: int = 64
    precision: int = 0
    scale: int = 0

    def canonical(self, value: Any) -> Any:
        """The JSON form of a value that a person or a program gives; None stays None.

        Text is read as the type: "7" is a bigint, "2026-09-01T10:00Z" a timestamp.
        """
        if value is None:
            return None
        try:
            return _CANONICAL[self.kind](self, value)
        except (ValueError, TypeError, ArithmeticError) as error:
            raise InvalidRequest(
                f"{_shown(value)} is not a {self.name}", hint=self.example
            ) from error

    def read(self, value: Any, *, in_any_spelling: bool = False) -> Any:
        """The canonical form of a JSON value in a record: stricter than `canonical` is with people."""
        if value is None:
            return None
        try:
            found = self.canonical(value) if _is_in_json(self, value) else None
        except (ValueError, ArithmeticError, RecursionError):
            found = None
        is_respelt = self.kind in _MOMENTS and found != value
        if found is None or (is_respelt and not in_any_spelling):
            raise InvalidRequest(f"{_shown(value)} is not a {self.name}", hint=self.example)
        return found

    def python(self, value: Any) -> Any:
        """The Python object for a JSON value: datetime, date, Decimal, bytes; None stays None."""
        return None if value is None else _PYTHON[self.kind](value)

    @property
    def example(self) -> str:
        return f"write it as {_EXAMPLES[self.kind]}"


def parse_type(name: str) -> ColumnType:
    """Read Spark's simple name of a type; raises `InvalidRequest`."""
    written = name.strip().lower()
    kind = _SIMPLE.get(written)
    if kind is not None:
        return ColumnType(written, kind, bits=_INTEGER_BITS.get(written, 64))
    if found := _DECIMAL.fullmatch(written):
        precision, scale = int(found[1]), int(found[2])
        return ColumnType(f"decimal({precision},{scale})", "decimal", 64, precision, scale)
    if _NESTED.fullmatch(name.strip()):
        return ColumnType(name.strip(), "json")
    raise InvalidRequest(
        f"{name!r} is not a type of a view's column",
        hint=f"use {', '.join(_SIMPLE)}, decimal(p,s), array<...>, map<...> or struct<...>",
    )


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}..."


def _boolean(_: ColumnType, value: Any) -> bool:
    word = str(value).lower()
    if word not in ("true", "false"):
        raise ValueError(value)
    return word == "true"


def _integer(of: ColumnType, value: Any) -> int:
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        raise TypeError(value)
    if isinstance(value, Decimal) and (value.adjusted() > of.bits or value % 1):
        raise ValueError(value)
    _refuse_odd_text(value, _WHOLE_NUMBER)
    number = int(value)
    if not -(1 << (of.bits - 1)) <= number < 1 << (of.bits - 1):
        raise OverflowError(value)
    return number


def _refuse_odd_text(value: Any, spelt: re.Pattern[str]) -> None:
    """Python would take 1_0 for ten."""
    if isinstance(value, str) and spelt.fullmatch(value) is None:
        raise ValueError(value)


def _floating(_: ColumnType, value: Any) -> float | str:
    if isinstance(value, bool):
        raise TypeError(value)
    if value not in _NOT_FINITE:
        _refuse_odd_text(value, _NUMBER)
    number = _NOT_FINITE[value] if value in _NOT_FINITE else float(value)
    if math.isfinite(number):
        return number or 0.0  # there is one zero
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def _decimal(of: ColumnType, value: Any) -> str:
    if isinstance(value, bool):
        raise TypeError(value)
    _refuse_odd_text(value, _NUMBER)
    number = Decimal(repr(value) if isinstance(value, float) else value)
    if not number.is_finite():
        raise ValueError(value)
    exponent = number.as_tuple().exponent
    assert isinstance(exponent, int)
    if exponent < -MOST_DIGITS:  # written out it could be of any length
        raise ValueError(value)
    number = number or abs(number)  # there is one zero
    fitted = number.quantize(Decimal(1).scaleb(-of.scale), context=_EXACT)
    # What is finer than the column is kept as it is, never rounded.
    return f"{fitted:f}" if fitted == number else _without_zeros_at_the_end(f"{number:f}")


def _without_zeros_at_the_end(digits: str) -> str:
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def _string(_: ColumnType, value: Any) -> str:
    if not isinstance(value, str) or _HALF_PAIR.search(value):
        raise TypeError(value)
    return value


def _binary(_: ColumnType, value: Any) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        return b64encode(value).decode()
    return b64encode(b64decode(value, validate=True)).decode()


def _date(_: ColumnType, value: Any) -> str:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    return date.fromisoformat(value).isoformat()


def _moment(value: Any) -> datetime:
    """What is finer than a microsecond does not fit: two moments would become one."""
    if isinstance(value, datetime):
        return value
    if _FINER.search(value):
        raise ValueError(value)
    return datetime.fromisoformat(value)


def _timestamp(_: ColumnType, value: Any) -> str:
    moment = _moment(value)
    # A time without a zone is UTC: the contract knows no other.
    moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S.%f}Z".rjust(27, "0")


def _timestamp_ntz(_: ColumnType, value: Any) -> str:
    moment = _moment(value)
    if moment.tzinfo is not None:
        raise ValueError(value)
    return moment.isoformat(timespec="microseconds")


def _json(_: ColumnType, value: Any) -> Any:
    return json.loads(json.dumps(value, allow_nan=False, default=_as_float))


def _as_float(value: Any) -> float:
    """Numbers in nested values are those of JSON."""
    if not isinstance(value, Decimal):
        raise TypeError(value)
    return float(value)


def _is_in_json(of: ColumnType, value: Any) -> bool:
    """Whether a value that was read from JSON may stand for one of this type."""
    match of.kind:
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return not isinstance(value, str) or _NUMBER.fullmatch(value) is not None
        case "floating":
            is_number = not isinstance(value, str) or value in _NOT_FINITE
            return is_number or _NUMBER.fullmatch(value) is not None
        case "decimal":
            is_number = not isinstance(value, str) or _NUMBER.fullmatch(value) is not None
            return is_number and _has_room(of, value)
        case "json":
            text = json.dumps(value, ensure_ascii=False, default=_as_float)
            return not _HALF_PAIR.search(text) and not _NUL_IN_JSON.search(text)
    # Not every store can keep a NUL or half of a surrogate pair.
    return isinstance(value, str) and not _HALF_PAIR.search(value) and "\0" not in value


def _has_room(of: ColumnType, value: Any) -> bool:
    """Whether no digit of it would be lost."""
    if isinstance(value, bool | list | dict):
        return False
    number = Decimal(repr(value) if isinstance(value, float) else value)
    if not number:
        return True
    digits = len(number.normalize(_EXACT).as_tuple().digits)
    most = _EXACT_AS_FLOAT if of.precision <= _EXACT_AS_FLOAT else MOST_DIGITS - 1
    return digits <= most


_CANONICAL: Final[dict[Kind, Callable[[ColumnType, Any], Any]]] = {
    "boolean": _boolean,
    "integer": _integer,
    "floating": _floating,
    "decimal": _decimal,
    "string": _string,
    "binary": _binary,
    "date": _date,
    "timestamp": _timestamp,
    "timestamp_ntz": _timestamp_ntz,
    "json": _json,
}

_PYTHON: Final[dict[Kind, Callable[[Any], Any]]] = {
    "boolean": bool,
    "integer": int,
    "floating": float,
    "decimal": lambda value: Decimal(str(value)),
    "string": str,
    "binary": b64decode,
    "date": date.fromisoformat,
    "timestamp": datetime.fromisoformat,
    "timestamp_ntz": datetime.fromisoformat,
    "json": lambda value: value,
}

_EXAMPLES: Final[dict[Kind, str]] = {
    "boolean": "true or false",
    "integer": "7",
    "floating": "12.5",
    "decimal": "12.50",
    "string": "text",
    "binary": "base64",
    "date": "2026-09-01",
    "timestamp": "2026-09-01T10:00Z",
    "timestamp_ntz": "2026-09-01T10:00",
    "json": "JSON",
}
