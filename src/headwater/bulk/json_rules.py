"""What a JSON value means in a typed column, one value at a time: the rules that bulk parsing must keep.

Missing and null fields are null, unknown ones are ignored, of a repeated one the last counts. Nothing is
rounded, cut or guessed: what does not fit its type is refused with a reason. Text takes any JSON value, as
Spark does. A time without a zone is UTC.
"""

import base64
import binascii
import json
import re
from collections.abc import Callable
from decimal import Context, Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa

from headwater.errors import NotSupported, UnreadableValue

Convert = Callable[[Any, str], Any]
"""(decoded JSON, name of the field) -> what `pa.array` takes for the type."""

_NUMBER: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
_NOT_FINITE: Final = ("NaN", "Infinity", "-Infinity")
"""As Spark and our outputs write them, for JSON has no numbers for them."""
_EXACT: Final = Context(prec=76)
"""More digits than any column has, where Python's own has fewer."""
_LARGEST_INT: Final = 2**31 - 1
_LARGEST_LONG: Final = 2**63 - 1
_DAY: Final = r"(?:\d{4}|[+-]\d{4,7})-\d{2}-\d{2}"
"""Years of more digits have a sign, as Spark and our outputs write them."""
_DATE: Final = re.compile(_DAY, re.ASCII)
_TIME: Final = re.compile(
    rf"({_DAY})"
    r"(?:[ T](\d{2})(?::(\d{2})(?::(\d{2})(?:\.(\d+))?)?)?(Z|[+-]\d{2}(?::?\d{2})?)?)?",
    re.ASCII,
)


class _Whole(str):
    """A number as it is written, without fraction or exponent."""

    __slots__ = ()


class _Real(str):
    """Any other number as it is written."""

    __slots__ = ()


def read_row(value: bytes | None, convert: Convert) -> Any:
    """Read one JSON object, or a row of nulls. Raises `UnreadableValue`."""
    try:
        return convert({} if value is None else _read_object(value), "")
    except RecursionError as error:
        # Where a value is decoded, or where a part of it is written as text again.
        raise UnreadableValue("the value is nested too deeply") from error


def _read_object(value: bytes) -> dict[str, Any]:
    """Decode one JSON object; numbers stay as they are written."""
    try:
        decoded = json.loads(
            str(value, "utf-8"), parse_int=_Whole, parse_float=_Real, parse_constant=_Real
        )
    except UnicodeDecodeError as error:
        raise UnreadableValue("the value is not UTF-8") from error
    except ValueError as error:
        raise UnreadableValue(f"the value is not JSON: {error}") from error
    if not isinstance(decoded, dict):
        raise UnreadableValue("the value is not a JSON object")
    return decoded


def converter(field: pa.Field) -> Convert:
    """Return the rule for a field; raises `NotSupported` for a type that JSON cannot fill."""
    convert = _of_type(field.type)
    if field.nullable:
        return lambda value, name: None if value is None else convert(value, name)

    def not_null(value: Any, name: str) -> Any:
        if value is None:
            raise UnreadableValue(f"field {name} is missing or null")
        return convert(value, name)

    return not_null


def _of_type(kind: pa.DataType) -> Convert:
    if pa.types.is_struct(kind):
        return _struct(kind)
    if pa.types.is_map(kind):
        return _map(kind)
    if pa.types.is_list(kind):
        return _list(kind)
    for is_kind, make in _MAKERS:
        if is_kind(kind):
            return make(kind)
    raise NotSupported(f"a column of type {kind} cannot be read from JSON", "declare it as STRING")


def _struct(kind: pa.StructType) -> Convert:
    fields = [(each.name, converter(each)) for each in kind]

    def convert(value: Any, name: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _refused(value, name, "an object")
        return {
            child: rule(value.get(child), f"{name}.{child}" if name else child)
            for child, rule in fields
        }

    return convert


def _map(kind: pa.MapType) -> Convert:
    if not pa.types.is_string(kind.key_type):
        raise NotSupported("the keys of a map in JSON are text", "declare it as MAP<STRING, ...>")
    rule = converter(kind.item_field)

    def convert(value: Any, name: str) -> list[tuple[str, Any]]:
        if not isinstance(value, dict):
            raise _refused(value, name, "an object")
        return [(_text(key, name), rule(each, f"{name}.{key}")) for key, each in value.items()]

    return convert


def _list(kind: pa.ListType) -> Convert:
    rule = converter(kind.value_field)

    def convert(value: Any, name: str) -> list[Any]:
        if not isinstance(value, list):
            raise _refused(value, name, "an array")
        return [rule(each, f"{name}[]") for each in value]

    return convert


def _integer(kind: pa.DataType) -> Convert:
    bound = 2 ** (kind.bit_width - 1)

    def convert(value: Any, name: str) -> int:
        # Longer texts are out of range in any case, and costly to turn into a number.
        if isinstance(value, _Whole) and len(value) < 25 and -bound <= int(value) < bound:
            return int(value)
        raise _refused(value, name, f"a whole number of {kind.bit_width} bits")

    return convert


def _floating(kind: pa.DataType) -> Convert:
    def convert(value: Any, name: str) -> float:
        if type(value) is str and value in _NOT_FINITE:
            return float(value)
        if not isinstance(value, _Whole | _Real):
            raise _refused(value, name, "a number")
        number = float(value)
        if isinstance(value, _Whole):
            number += 0.0  # a whole number has no sign of zero: -0 is 0
        if kind.bit_width == 32:
            with np.errstate(over="ignore"):
                number = float(np.float32(number))
        if np.isinf(number) and not value.endswith("Infinity"):
            raise _refused(value, name, f"a number of {kind.bit_width} bits")
        return number

    return convert


def _decimal(kind: pa.Decimal128Type) -> Convert:
    limit = 10 ** (kind.precision - kind.scale)
    unit = Decimal(1).scaleb(-kind.scale)

    def convert(value: Any, name: str) -> Decimal:
        if isinstance(value, str) and _NUMBER.fullmatch(value):
            number = Decimal(value)
            if number.copy_abs() < limit:
                fitted = number.quantize(unit, context=_EXACT)
                if fitted == number:
                    return fitted
        raise _refused(value, name, f"a number with {kind.scale} decimals, below {limit}")

    return convert


def _timestamp(kind: pa.TimestampType) -> Convert:
    has_zone = kind.tz is not None

    def convert(value: Any, name: str) -> int:
        found = _TIME.fullmatch(value) if type(value) is str else None
        if found is None or (found[6] and not has_zone):
            raise _refused(value, name, "a time as 2026-09-01T10:00:00Z")
        date, hour, minute, second, fraction, zone = found.groups()
        clock = f"{hour or '00'}:{minute or '00'}:{second or '00'}"
        try:
            seconds = int(np.datetime64(f"{date}T{clock}", "s").astype(np.int64))
        except ValueError:
            raise _refused(value, name, "a time of the calendar") from None
        seconds -= _zone_minutes(value, name, zone) * 60
        digits = (fraction or "").rstrip("0")
        if len(digits) > 6:
            raise _refused(value, name, "a time in whole microseconds")
        microseconds = seconds * 1_000_000 + int(f"{digits:0<6}")
        if not -_LARGEST_LONG <= microseconds <= _LARGEST_LONG:
            raise _refused(value, name, "a time that 64 bits of microseconds hold")
        return microseconds

    return convert


def _zone_minutes(value: str, name: str, zone: str | None) -> int:
    if zone is None or zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[3:].lstrip(":") or 0)
    if hours > 23 or minutes > 59:
        raise _refused(value, name, "a time of the calendar")
    return (hours * 60 + minutes) * (-1 if zone[0] == "-" else 1)


def _date(_: pa.DataType) -> Convert:
    def convert(value: Any, name: str) -> int:
        if type(value) is str and _DATE.fullmatch(value):
            try:
                days = int(np.datetime64(value, "D").astype(np.int64))
            except ValueError:
                pass
            else:
                if -_LARGEST_INT <= days <= _LARGEST_INT:
                    return days
        raise _refused(value, name, "a date as 2026-09-01")

    return convert


def _boolean(_: pa.DataType) -> Convert:
    def convert(value: Any, name: str) -> bool:
        if isinstance(value, bool):
            return value
        raise _refused(value, name, "true or false")

    return convert


def _binary(_: pa.DataType) -> Convert:
    def convert(value: Any, name: str) -> bytes:
        if type(value) is str:
            try:
                return base64.b64decode(value, validate=True)
            except (binascii.Error, ValueError):
                pass
        raise _refused(value, name, "bytes in base64")

    return convert


def _string(_: pa.DataType) -> Convert:
    return _text


def _text(value: Any, name: str) -> str:
    text = str(value) if isinstance(value, str) else _as_json(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise UnreadableValue(f"field {name} holds half a surrogate pair") from None
    return text


def _as_json(value: Any) -> str:
    if isinstance(value, _Whole | _Real):
        return str(value)
    if isinstance(value, dict):
        members = (
            f"{json.dumps(key, ensure_ascii=False)}:{_as_json(each)}" for key, each in value.items()
        )
        return "{" + ",".join(members) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_as_json, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _refused(value: Any, name: str, wanted: str) -> UnreadableValue:
    shown = json.dumps(value)[:60] if not isinstance(value, _Whole | _Real) else str(value)[:60]
    return UnreadableValue(f"field {name} is not {wanted}: {shown}")


_MAKERS: Final[tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any], Convert]], ...]] = (
    (pa.types.is_signed_integer, _integer),
    (pa.types.is_floating, _floating),
    (pa.types.is_string, _string),
    (pa.types.is_boolean, _boolean),
    (pa.types.is_timestamp, _timestamp),
    (pa.types.is_decimal, _decimal),
    (pa.types.is_date32, _date),
    (pa.types.is_binary, _binary),
)
