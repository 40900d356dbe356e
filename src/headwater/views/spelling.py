"""How the contract spells keys and rows, as regular expressions over bytes.

What matches needs no second look: every value is of its column's type, and is read by every store as it is
by `rows.py`; a key is, byte for byte, what `encode_key` writes. What does not match may still be a row
(columns in another order, a day that only some years have): that is for `rows.py` to say.

Repeats never go back (`*+`, `?+`): a long value takes neither memory nor a second attempt.
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Final, TypeVar

from headwater.views.column_types import MOST_DIGITS, ColumnType, Kind
from headwater.views.definition import Column, View

Raw = TypeVar("Raw", bytes, bytes | None)

_PLAIN: Final = rb'[^"\\\x00-\x1f]*+'
_UNICODE: Final = rb"u(?!0000|[dD][89a-fA-F])[0-9a-fA-F]{4}"
_TEXT: Final = rb'"%b(?:\\(?:["\\/bfnrt]|%b)%b)*+"' % (_PLAIN, _UNICODE, _PLAIN)
# In a key one text has one spelling only.
_KEY_TEXT: Final = rb'"%b(?:\\(?:["\\bfnrt]|u00(?:0[1-7bef]|1[0-9a-f]))%b)*+"' % (_PLAIN, _PLAIN)
_NUMBER: Final = rb"-?(?:0|[1-9]\d{0,17}+)(?:\.\d{1,20}+)?+(?:[eE][-+]?\d{1,2}+)?+"
_DAY: Final = (
    rb"(?!0000)\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])"
    rb"|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
)
_TIME: Final = rb"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}"
_BASE64: Final = (
    rb'"(?:[A-Za-z0-9+/]{4})*+'
    rb'(?:[A-Za-z0-9+/][AQgw]==|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=)?"'
)
_VALUES: Final[dict[Kind, bytes]] = {
    "boolean": rb"(?:true|false)",
    "floating": rb'(?:%b|"NaN"|"-?Infinity")' % _NUMBER,
    "string": _TEXT,
    "binary": _BASE64,
    "date": rb'"%b"' % _DAY,
    "timestamp": rb'"%bT%bZ"' % (_DAY, _TIME),
    "timestamp_ntz": rb'"%bT%b"' % (_DAY, _TIME),
}
_NESTED_LEVELS: Final = 3
_MOST_NESTED: Final = 50
"""A pattern with more nested columns would take seconds to compile."""
_NEVER: Final = rb"(?!)"


def respeller(view: View) -> Callable[[Sequence[Raw]], Sequence[Raw]]:
    """The function that writes decimals in keys as text where Spark writes them as numbers."""
    decimals = [_name(each) for each in view.key_columns if each.type.kind == "decimal"]
    if not decimals:
        return lambda keys: keys
    respell = re.compile(rb"([{,](?:%b))(-?[\d.]+)(?=[,}])" % b"|".join(decimals)).sub
    return lambda keys: [key and respell(rb'\1"\2"', key) for key in keys]


def key_checker(view: View) -> Callable[[Sequence[bytes]], bool]:
    """The function that says whether all of these, respelt, are keys as `encode_key` writes them."""
    is_key = re.compile(_key(view) + rb"\}").fullmatch
    return lambda keys: all(map(is_key, keys)) and _are_utf8(b"".join(keys))


def keys_in_rows(view: View) -> Callable[[Sequence[bytes]], Sequence[bytes] | None]:
    """The function that finds the keys of values, respelt; None if a value is spelt otherwise.

    A value has the columns of its key first, or, as Spark writes it, all columns as they are defined.
    All are looked at in one go, a line each: an object for every match would be a third of the cost.
    """
    if sum(each.type.kind == "json" for each in view.columns) > _MOST_NESTED:
        return lambda rows: None if rows else []
    key_first, respelt = _lines(_key_first(view)), respeller(view)
    defined = [each.name for each in view.columns if each.name in view.key]
    order = [defined.index(name) for name in view.key]

    def keys_in(rows: Sequence[bytes]) -> Sequence[bytes] | None:
        lines = b"\n".join(rows)
        if not _are_utf8(lines) or lines.count(b"\n") >= max(len(rows), 1):
            return None
        found = key_first.findall(lines)
        if len(found) == len(rows):
            return respelt([each + b"}" for each in found])
        found = as_defined().findall(lines)
        if len(found) != len(rows):
            return None
        parts = found if len(order) > 1 else ((each,) for each in found)
        return respelt([b"{" + b",".join([each[at] for at in order]) + b"}" for each in parts])

    @cache
    def as_defined() -> re.Pattern[bytes]:
        return _lines(_as_defined(view))

    return keys_in


def _lines(row: bytes) -> re.Pattern[bytes]:
    """Finds the lines that are such rows; what stands between braces never reaches over a line's end."""
    return re.compile(rb"^%b$" % row, re.MULTILINE)


def _are_utf8(joined: bytes) -> bool:
    """Told at one look: what matches begins and ends with braces, so no two halves make a whole."""
    if joined.isascii():
        return True
    try:
        joined.decode()
    except UnicodeDecodeError:
        return False
    return True


def _key_first(view: View) -> bytes:
    others = [each for each in view.columns if each.name not in view.key]
    # A column that may be null may be left out.
    rest = (rb"(?:,%b)%b" % (_column(each), b"?+" if each.is_nullable else b"") for each in others)
    return rb"(%b)%b\}" % (_key(view), b"".join(rest))


def _as_defined(view: View) -> bytes:
    columns = (
        rb"(%b)" % _key_column(each) if each.name in view.key else _column(each)
        for each in view.columns
    )
    return rb"\{%b\}" % b",".join(columns)


def _key(view: View) -> bytes:
    return rb"\{" + b",".join(map(_key_column, view.key_columns))


def _key_column(column: Column) -> bytes:
    return _name(column) + _key_value(column.type)


def _column(column: Column) -> bytes:
    null = b"null|" if column.is_nullable else b"(?!null)"
    return rb"%b(?:%b%b)" % (_name(column), null, _value(column.type))


def _name(column: Column) -> bytes:
    return re.escape(f'"{column.name}":'.encode())


def _key_value(of: ColumnType) -> bytes:
    match of.kind:
        case "string":
            return _KEY_TEXT
        case "decimal":
            return rb'(?!"?-[0.]+[",}])%b' % _value(of)  # there is one zero
        case "floating":
            return _NEVER  # 1.0 and 1e0 are one key: only `rows.py` can tell
    return _value(of)


def _value(of: ColumnType) -> bytes:
    match of.kind:
        case "integer":
            return rb"(?:0|-?(?:%b))" % _up_to((1 << (of.bits - 1)) - 1)
        case "decimal":
            return rb'(?:%b|"%b")' % (_decimal(of), _decimal(of))
        case "json":
            return _nested(_NESTED_LEVELS)
    return _VALUES[of.kind]


def _up_to(largest: int) -> bytes:
    """Whole numbers from 1 on: with fewer digits, or with as many and the first that differs smaller."""
    digits = str(largest)
    ways = [rb"[1-9]\d{0,%d}+(?!\d)" % (len(digits) - 2)]
    for at, digit in enumerate(digits):
        first = 0 if at else 1
        if int(digit) > first:
            same, behind = digits[:at].encode(), len(digits) - at - 1
            ways.append(rb"%b[%d-%d]\d{%d}" % (same, first, int(digit) - 1, behind))
    return b"|".join([*ways, digits.encode()])


def _decimal(of: ColumnType) -> bytes:
    """All its digits and no more."""
    before = of.precision - of.scale
    if before < 1 or of.scale < 0 or of.precision >= MOST_DIGITS:
        return _NEVER
    behind = rb"\.\d{%d}" % of.scale if of.scale else b""
    return rb"-?(?:0|[1-9]\d{0,%d})%b" % (before - 1, behind)


def _nested(levels: int) -> bytes:
    plain = rb"null|true|false|%b|%b" % (_NUMBER, _TEXT)
    if levels == 0:
        return rb"(?:%b)" % plain
    inner = _nested(levels - 1)
    array = rb"\[(?:%b(?:,(?!\])|(?=\])))*+\]" % inner
    record = rb"\{(?:%b:%b(?:,(?!\})|(?=\})))*+\}" % (_TEXT, inner)
    return rb"(?:%b|%b|%b)" % (plain, array, record)
