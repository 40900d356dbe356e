"""How the contract spells keys and rows, as regular expressions over bytes.

What matches needs no second look: every value is of its column's type, and is read by every store as it is
by `rows.py`. What does not match may still be a row (columns in another order, a day that only some years
have): that is for `rows.py` to say.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

from headwater.views.column_types import ColumnType, Kind
from headwater.views.definition import Column, View

Match = Callable[[bytes], re.Match[bytes] | None]

_PLAIN: Final = rb'[^"\\\x00-\x1f]*'
_UNICODE: Final = rb"u(?!0000|[dD][89a-fA-F])[0-9a-fA-F]{4}"
_TEXT: Final = rb'"%b(?:\\(?:["\\/bfnrt]|%b)%b)*"' % (_PLAIN, _UNICODE, _PLAIN)
# In a key one text has one spelling only.
_KEY_TEXT: Final = rb'"%b(?:\\(?:["\\bfnrt]|u00(?!00)[01][0-9a-fA-F])%b)*"' % (_PLAIN, _PLAIN)
_NUMBER: Final = rb"-?(?:0|[1-9]\d{0,17})(?:\.\d{1,20})?(?:[eE][-+]?\d{1,2})?"
_DAY: Final = (
    rb"(?!0000)\d{4}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])"
    rb"|(?:0[13-9]|1[0-2])-(?:29|30)|(?:0[13578]|1[02])-31)"
)
_TIME: Final = rb"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}"
_BASE64: Final = (
    rb'"(?:[A-Za-z0-9+/]{4})*'
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
_DIGITS: Final = {8: 3, 16: 5, 32: 10, 64: 18}
_NEVER: Final = rb"(?!)"


def key_matcher(view: View) -> Match:
    """Matches keys of this view's records."""
    return re.compile(_key(view) + rb"\}").fullmatch


def keys_in_rows(view: View) -> Callable[[Sequence[bytes]], list[bytes] | None]:
    """The function that finds the keys of values; None if one of them is spelt otherwise.

    A value has the columns of its key first, or, as Spark writes it, all columns as they are defined.
    """
    key_first, as_defined = _key_first(view), _as_defined(view)
    defined = [each.name for each in view.columns if each.name in view.key]
    order = [defined.index(name) for name in view.key]

    def keys_in(rows: Sequence[bytes]) -> list[bytes] | None:
        found = [*map(key_first, rows)]
        if None not in found:
            return [each[1] + b"}" for each in found]  # type: ignore[index]
        found = [*map(as_defined, rows)]
        if None in found:
            return None
        parts = (each.groups() for each in found)  # type: ignore[union-attr]
        return [b"{" + b",".join([each[at] for at in order]) + b"}" for each in parts]

    return keys_in


def _key_first(view: View) -> Match:
    others = [each for each in view.columns if each.name not in view.key]
    rest = b"".join(rb"(?:,%b(?:null|%b))?" % (_name(each), _value(each.type)) for each in others)
    return re.compile(rb"(%b)%b\}" % (_key(view), rest)).fullmatch


def _as_defined(view: View) -> Match:
    columns = (
        rb"(%b%b)" % (_name(each), _key_value(each.type))
        if each.name in view.key
        else rb"%b(?:null|%b)" % (_name(each), _value(each.type))
        for each in view.columns
    )
    return re.compile(rb"\{%b\}" % b",".join(columns)).fullmatch


def _key(view: View) -> bytes:
    return rb"\{" + b",".join(_name(each) + _key_value(each.type) for each in view.key_columns)


def _name(column: Column) -> bytes:
    return re.escape(f'"{column.name}":'.encode())


def _key_value(of: ColumnType) -> bytes:
    match of.kind:
        case "string":
            return _KEY_TEXT
        case "floating":
            return _NEVER  # 1.0 and 1e0 are one key: only `rows.py` can tell
    return _value(of)


def _value(of: ColumnType) -> bytes:
    match of.kind:
        case "integer":
            return rb"-?(?:0|[1-9]\d{0,%d})" % (_DIGITS[of.bits] - 1)
        case "decimal":
            return _decimal(of)
        case "json":
            return _nested(_NESTED_LEVELS)
    return _VALUES[of.kind]


def _decimal(of: ColumnType) -> bytes:
    """All its digits and no more, as text or as a number."""
    before = of.precision - of.scale
    if before < 1 or of.scale < 0:
        return _NEVER
    behind = rb"\.\d{%d}" % of.scale if of.scale else b""
    digits = rb"-?(?:0|[1-9]\d{0,%d})%b" % (before - 1, behind)
    return rb'(?:%b|"%b")' % (digits, digits)


def _nested(levels: int) -> bytes:
    plain = rb"null|true|false|%b|%b" % (_NUMBER, _TEXT)
    if levels == 0:
        return rb"(?:%b)" % plain
    inner = _nested(levels - 1)
    array = rb"\[(?:%b(?:,(?!\])|(?=\])))*\]" % inner
    record = rb"\{(?:%b:%b(?:,(?!\})|(?=\})))*\}" % (_TEXT, inner)
    return rb"(?:%b|%b|%b)" % (plain, array, record)
