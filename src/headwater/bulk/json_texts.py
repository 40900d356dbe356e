"""Text -> times and decimals, many at once; both raise `pa.ArrowInvalid` for a text that is none."""

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

_ZONE: Final = r"\d.*(Z|[+-]\d\d(:?\d\d)?)$"
_EXPONENT: Final = "[eE]"
_MORE_THAN_38_DIGITS: Final = r"(\d\.?){39}"
_DATE_SIZE: Final = len("2026-09-01")


def times(kind: pa.TimestampType, texts: pa.StringArray) -> pa.Array:
    """A time without a zone is UTC, which Arrow takes in one array, but not beside others."""
    if kind.tz is None:
        return texts.cast(kind)
    try:
        return texts.cast(kind)
    except pa.ArrowInvalid:
        has_zone = pc.and_(
            pc.match_substring_regex(texts, _ZONE), pc.greater(pc.binary_length(texts), _DATE_SIZE)
        )
        nothing = pa.scalar(None, pa.string())
        zoned = pc.if_else(has_zone, texts, nothing).cast(kind)
        local = pc.if_else(has_zone, nothing, texts).cast(pa.timestamp(kind.unit))
        return pc.coalesce(zoned, local.cast(kind))


def decimals(kind: pa.Decimal128Type, texts: pa.StringArray) -> pa.Array:
    """Numbers as they are written, without quotes."""
    longest = pc.max(pc.binary_length(texts)).as_py() or 0
    if pc.any(pc.match_substring_regex(texts, _misread(kind, longest))).as_py():
        raise pa.ArrowInvalid("a number that Arrow would take for another one")
    return texts.cast(kind)


def _misread(kind: pa.Decimal128Type, longest: int) -> str:
    """Exponents, of which Arrow makes zero if they are small, and more than 128 bits, which it cuts."""
    digits = kind.precision - kind.scale
    if longest <= digits:
        return _EXPONENT
    return rf"{_EXPONENT}|{_MORE_THAN_38_DIGITS}|^\D*0*[1-9]\d{{{digits}}}"
