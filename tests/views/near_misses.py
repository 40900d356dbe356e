"""Views, and bytes that are rows of them, or almost: other spellings, other types, a byte that is wrong."""

import json

from hypothesis import strategies as st

from headwater.views import Column, ColumnType, View, parse_type

TYPES = (
    "boolean",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "double",
    "decimal(5,2)",
    "decimal(3,3)",
    "decimal(5,-2)",
    "decimal(15,3)",
    "decimal(16,0)",
    "decimal(38,10)",
    "decimal(150,0)",
    "string",
    "binary",
    "date",
    "timestamp",
    "timestamp_ntz",
    "array<int>",
    "struct<a:int>",
)
NAMES = ("a", "é", "x.y", "it's", "b c")


def _joined(parts: list[str], longest: int) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(parts), max_size=longest).map("".join)


_WHOLE = st.one_of(
    st.integers(-(2**65), 2**65),
    st.integers(-300, 300),
    st.sampled_from(
        [s * (1 << bits) + more for s in (1, -1) for bits in (7, 15, 31, 63) for more in (-1, 0, 1)]
    ),
).map(str) | st.sampled_from(["-0", "00", "01", "+1", "1.0", "1e1"])
_DIGITS = st.from_regex(r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,12})?", fullmatch=True)
_FITTED = st.builds(
    lambda sign, digits, places: f"{sign}{digits}.{places}" if places else f"{sign}{digits}",
    st.sampled_from(["", "-"]),
    st.sampled_from(["0", "1", "99", "100", "1" * 13, "9" * 16, "9" * 28, "9" * 120]),
    st.sampled_from(["", "0", "00", "50", "000", "125", "0000000000", "0000000001"]),
)
_NUMBER = st.from_regex(
    r"-?(0|[1-9][0-9]{0,19})(\.[0-9]{1,21})?([eE][-+]?[0-9]{1,3})?", fullmatch=True
)
_TEXT = _joined(
    [
        "a",
        "é",
        "\u2028",
        "😀",
        "\x7f",
        "{",
        "}",
        ",",
        ":",
        "\\n",
        "\\u000a",
        "\\u000A",
        "\\u001f",
        "\\u001F",
        "\\u0007",
        "\\u0000",
        "\\u0041",
        "\\u20ac",
        "\\ud800",
        "\\ud83d\\ude00",
        '\\"',
        "\\\\",
        "\\/",
        "\\\\u0000",
    ],
    6,
).map('"{}"'.format)
_BASE64 = _joined(["A", "Q", "R", "w", "+", "/", "=", "YWJj", "-"], 6).map('"{}"'.format)
_DAY = st.builds(
    "{}-{}-{}".format,
    st.sampled_from(["0000", "0001", "1900", "2023", "2024", "9999"]),
    st.sampled_from(["00", "01", "02", "04", "12", "13"]),
    st.sampled_from(["00", "01", "28", "29", "30", "31", "32"]),
)
_TIME = st.sampled_from(
    [
        "T00:00:00.000000",
        "T23:59:59.999999",
        "T24:00:00.000000",
        "T10:00:60.000000",
        "T10:00:00",
        "T10:00",
    ]
)
_PLAIN = st.one_of(st.sampled_from(["null", "true", "false", "NaN"]), _NUMBER, _TEXT)
_NESTED = st.recursive(
    _PLAIN,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda each: f"[{','.join(each)}]")
        | st.lists(st.builds("{}:{}".format, _TEXT, inner), max_size=3).map(
            lambda each: f"{{{','.join(each)}}}"
        )
    ),
    max_leaves=6,
)
_VALUES: dict[str, st.SearchStrategy[str]] = {
    "boolean": st.sampled_from(["true", "false", "1", '"true"']),
    "integer": _WHOLE,
    "floating": _NUMBER
    | _WHOLE
    | st.sampled_from(['"NaN"', '"Infinity"', '"-Infinity"', '"inf"', "-0.0"]),
    "decimal": st.builds(
        lambda digits, form: form.format(digits), _FITTED | _DIGITS, st.sampled_from(["{}", '"{}"'])
    ),
    "string": _TEXT,
    "binary": _BASE64,
    "date": _DAY.map('"{}"'.format),
    "timestamp": st.builds('"{}{}{}"'.format, _DAY, _TIME, st.sampled_from(["Z", "", "+02:00"])),
    "timestamp_ntz": st.builds('"{}{}{}"'.format, _DAY, _TIME, st.sampled_from(["", "", "Z"])),
    "json": _NESTED,
}


@st.composite
def views(draw: st.DrawFn) -> View:
    types = draw(
        st.lists(st.sampled_from(TYPES), min_size=1, max_size=4).map(lambda found: ["int", *found])
    )
    columns = [
        Column(
            f"{draw(st.sampled_from(NAMES))}{place}",
            parse_type(each),
            is_nullable=draw(st.booleans()),
        )
        for place, each in enumerate(draw(st.permutations(types)))
    ]
    possible = [each.name for each in columns if each.type.kind != "json"]
    key = draw(st.lists(st.sampled_from(possible), min_size=1, max_size=2, unique=True))
    return View("near", "near", tuple(key), tuple(columns))


@st.composite
def rows(draw: st.DrawFn, view: View) -> bytes:
    """A value of a record, or nearly so."""
    names = [*view.key, *(each.name for each in view.columns if each.name not in view.key)]
    if draw(st.integers(0, 3)) == 0:
        names = [each.name for each in view.columns]
    left_out = draw(st.sets(st.sampled_from(names), max_size=1)) if draw(st.booleans()) else set()
    return draw(_objects(view, [each for each in names if each not in left_out]))


@st.composite
def keys(draw: st.DrawFn, view: View) -> bytes:
    return draw(_objects(view, list(view.key)))


@st.composite
def _objects(draw: st.DrawFn, view: View, names: list[str]) -> bytes:
    written = [
        f"{json.dumps(each, ensure_ascii=False)}:{draw(_value(view.by_name[each].type))}"
        for each in names
    ]
    return draw(_with_an_odd_byte(f"{{{','.join(written)}}}".encode()))


def _value(of: ColumnType) -> st.SearchStrategy[str]:
    mostly = st.integers(0, 9)
    return mostly.flatmap(lambda chance: st.just("null") if chance == 9 else _VALUES[of.kind])


@st.composite
def _with_an_odd_byte(draw: st.DrawFn, raw: bytes) -> bytes:
    if draw(st.integers(0, 2)):
        return raw
    at = draw(st.integers(0, len(raw) - 1))
    odd = bytes([draw(st.sampled_from(b'"\\{}[],:0123456789eE.-+nu \x00\x80\xff\xed\xc3'))])
    return draw(
        st.sampled_from(
            [raw[:at] + odd + raw[at + 1 :], raw[:at] + odd + raw[at:], raw[:at] + raw[at + 1 :]]
        )
    )
