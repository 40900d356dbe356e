"""Bulk parsing of JSON keeps the rules for single values, whatever stands beside a value."""

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from headwater.bulk.json_rules import converter, read_row
from headwater.bulk.json_values import JsonParser
from headwater.errors import NotSupported, UnreadableValue

TIME = pa.timestamp("us", tz="UTC")
EVERY_TYPE = pa.schema(
    [
        ("whole", pa.int64()),
        ("small", pa.int8()),
        ("real", pa.float64()),
        ("single", pa.float32()),
        ("flag", pa.bool_()),
        ("text", pa.string()),
        ("at", TIME),
        ("local", pa.timestamp("us")),
        ("day", pa.date32()),
        ("price", pa.decimal128(10, 2)),
        ("wide", pa.decimal128(38, 18)),
        ("tags", pa.list_(pa.string())),
        ("labels", pa.map_(pa.string(), pa.int64())),
        ("prices", pa.list_(pa.decimal128(10, 2))),
        ("place", pa.struct([("x", pa.float64()), ("names", pa.list_(pa.int32()))])),
    ]
)

SINGLE = pa.schema([EVERY_TYPE.field("single")])
MANY = 100
"""So many values that are alike are read without a parser."""


def singly(schema: pa.Schema, value: bytes | None):
    """What the rules say about one value: its row, or None if it is refused."""
    convert = converter(pa.field("", pa.struct(list(schema)), nullable=False))
    try:
        row = read_row(value, convert)
    except UnreadableValue:
        return None
    return pa.array([row], type=pa.struct(list(schema)))


def check(schema: pa.Schema, values: list[bytes | None]) -> None:
    parsed = JsonParser(schema).parse(pa.array(values, type=pa.binary()))
    expected = [singly(schema, each) for each in values]
    good = [at for at, row in enumerate(expected) if row is not None]
    assert parsed.positions.tolist() == good
    assert [each.position for each in parsed.refused] == [
        at for at, row in enumerate(expected) if row is None
    ]
    assert as_text(parsed.columns) == [as_text(expected[at])[0] for at in good]
    parsed.columns.validate(full=True)


def as_text(columns: pa.StructArray) -> list[str]:
    """A NaN is not equal to itself, and Python's calendar is shorter than Arrow's."""
    calendar = {"at": pa.int64(), "local": pa.int64(), "day": pa.int32()}
    plain = pa.struct([(each.name, calendar.get(each.name, each.type)) for each in columns.type])
    return [str(each) for each in columns.cast(plain).to_pylist()]


TEXTS = st.text(max_size=6) | st.sampled_from(["\0", "\n", '"', "}\n{", "\ud83d\ude00", "Inf"])
NUMBERS = st.sampled_from(
    [
        "0",
        "-0",
        "1",
        "127",
        "128",
        "-129",
        "1.0",
        "1e2",
        "2.50",
        "1.234",
        "9223372036854775807",
        "9223372036854775808",
        "12345678.90",
        "123456789.1",
        "1e400",
        "1e-400",
        "NaN",
        "Infinity",
        "-Infinity",
        "Inf",
        "-Inf",
        "01",
        "+1",
        ".5",
        "5.",
        "1E5",
        "16777217",
        "3.4e39",
        "0.1",
    ]
) | st.floats(allow_nan=False, allow_infinity=False).map(repr)
LONG_NUMBERS = st.from_regex(
    r"-?(0|[1-9][0-9]{0,50})(\.[0-9]{1,45}|\.[0-9]0{0,45})?", fullmatch=True
)
DATES = st.dates().map(str) | st.sampled_from(
    ["2026-02-30", "0000-01-01", "2026-1-1", "12026-01-01", "+12026-01-01", "-0005-12-31"]
)
CLOCKS = st.from_regex(
    r"[ Tt]?[0-2][0-9](:?[0-6][0-9](:?[0-6][0-9](\.[0-9]{0,8})?)?)?", fullmatch=True
)
ZONES = st.sampled_from(["", "Z", "z", "+02:00", "-0330", "+02", "+2", "+24:00", "+00:60", " Z"])
TIMES = st.one_of(
    st.tuples(DATES, CLOCKS, ZONES).map("".join), DATES, st.tuples(DATES, ZONES).map("".join)
)
ESCAPES = st.sampled_from(
    ['"\\u0041"', '"\\ud83d\\ude00"', '"\\ud83d"', '"\\x"', '"a\tb"', '"\x7f"']
)
SCALARS = st.one_of(
    NUMBERS,
    st.sampled_from(["null", "true", "false", "tru"]),
    TEXTS.map(json.dumps),
    TIMES.map(json.dumps),
    NUMBERS.map(json.dumps),
    ESCAPES,
)
ANY = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda each: f"[{','.join(each)}]"),
        st.lists(st.tuples(st.sampled_from(["x", "names", "k"]), inner), max_size=3).map(
            lambda each: "{" + ",".join(f'"{key}":{value}' for key, value in each) + "}"
        ),
    ),
    max_leaves=6,
)
FITTING = {
    "whole": NUMBERS,
    "small": NUMBERS,
    "real": NUMBERS,
    "single": NUMBERS,
    "flag": st.sampled_from(["true", "false"]),
    "text": TEXTS.map(json.dumps),
    "at": TIMES.map(json.dumps),
    "local": TIMES.map(json.dumps),
    "day": DATES.map(json.dumps),
    "price": NUMBERS | NUMBERS.map(json.dumps),
    "wide": LONG_NUMBERS | LONG_NUMBERS.map(json.dumps),
    "tags": st.lists(TEXTS.map(json.dumps) | st.just("null"), max_size=3).map(
        lambda each: f"[{','.join(each)}]"
    ),
    "labels": st.sampled_from(
        ['{"a":1,"b":null}', '{"a":1,"b":2,"a":3}', "{}", "null", '{"":0}', '{"a":"x"}', "[]"]
    ),
    "prices": st.lists(NUMBERS | st.just("null"), max_size=3).map(
        lambda each: f"[{','.join(each)}]"
    ),
    "place": st.sampled_from(
        ['{"x":1,"names":[1,null]}', '{"x":1,"x":2}', "{}", "null", '{"z":[]}']
    ),
}
MEMBERS = st.one_of(
    *(each.map(lambda value, name=name: f'"{name}":{value}') for name, each in FITTING.items()),
    st.tuples(st.sampled_from([*FITTING, "other"]), ANY).map(lambda each: f'"{each[0]}":{each[1]}'),
)
OBJECTS = st.lists(MEMBERS, max_size=4).map(lambda each: "{" + ",".join(each) + "}")
VALUES = st.one_of(
    st.none(),
    OBJECTS.map(str.encode),
    st.tuples(OBJECTS, OBJECTS).map(lambda each: "".join(each).encode()),
    st.tuples(st.sampled_from([" ", "\n", "\0", "\ufeff", ""]), OBJECTS).map(
        lambda each: "".join(each).encode()
    ),
    st.binary(max_size=6),
    st.sampled_from([b"", b"{", b"}", b"{}", b"[]", b"null", b'{"text":"\xff"}', b'{"a":"x\ny"}']),
)


@given(values=st.lists(VALUES, max_size=8))
@settings(deadline=None)
@example(values=[b'{"text":"a', b'b"}'])
@example(values=[b'{"whole":1', b',"small":2}', b'{"whole":3}{"whole":4}'])
@example(values=[b'{"tags":[', b'"x"]}', b"{}{}"])
@example(values=[b'{"place":{}', b"}", b"{}{}"])
@example(values=[b'{"tags":["}', b'{"]}'])
@example(values=[b'{"price":123456789.1}'])
@example(values=[b'{"price":7e-56}'])
@example(values=[b'{"real":-0}', b'{"single":-0 }', b'{"place":{"x":-0}}', b'{"real":-0.0}'])
@example(
    values=[b'{"at":"2026-09-01T10:00Z"}', b'{"at":"2026-09-01"}', b'{"at":"2026-09-01 10:00"}']
)
def test_a_value_is_read_as_if_it_stood_alone(values: list[bytes | None]) -> None:
    check(EVERY_TYPE, values)


@given(text=st.lists(OBJECTS, min_size=1, max_size=4).map("".join), data=st.data())
@settings(deadline=None)
def test_objects_torn_between_values_are_not_put_together(text: str, data) -> None:
    """Whatever the cuts, a part of an object is no object."""
    whole = text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=4)))
    check(EVERY_TYPE, [whole[a:b] for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)])


@given(times=st.lists(TIMES, min_size=1, max_size=4))
@settings(deadline=None)
def test_times_mean_the_same_in_bulk_and_alone(times: list[str]) -> None:
    values = [
        json.dumps({name: each}).encode() for each in times for name in ("at", "local", "day")
    ]
    schema = pa.schema([EVERY_TYPE.field(name) for name in ("at", "local", "day")])
    for each in values:
        check(schema, [each])


@st.composite
def decimal_types(draw) -> pa.Decimal128Type:
    precision = draw(st.integers(1, 38) | st.just(38))
    return pa.decimal128(precision, draw(st.integers(0, precision)))


@given(kind=decimal_types(), texts=st.lists(LONG_NUMBERS, min_size=1, max_size=4))
@settings(deadline=None)
@example(kind=pa.decimal128(38, 18), texts=["1" * 22])
@example(kind=pa.decimal128(38, 0), texts=["9" * 39])
@example(kind=pa.decimal128(38, 38), texts=["9.5"])
@example(kind=pa.decimal128(3, 3), texts=["123.45" + "0" * 40])
@example(kind=pa.decimal128(38, 0), texts=["0" * 45 + "9" * 38, "0" * 45 + "9" * 39])
def test_a_decimal_out_of_range_is_never_another_one(
    kind: pa.Decimal128Type, texts: list[str]
) -> None:
    for each in texts:
        check(pa.schema([("a", kind)]), [b'{"a":%s}' % each.encode()])
        check(pa.schema([("a", kind)]), [b'{"a":"%s"}' % each.encode()])


def rows(schema: str | pa.Schema, *values: bytes | None) -> list[dict]:
    parsed = JsonParser(schema).parse(pa.array(values, type=pa.binary()))
    assert parsed.refused == []
    return parsed.columns.to_pylist()


def reason(schema: pa.Schema, value: bytes | None) -> str:
    (refused,) = JsonParser(schema).parse(pa.array([value], type=pa.binary())).refused
    return refused.reason


def one(kind: pa.DataType, text: bytes):
    return rows(pa.schema([("a", kind)]), b'{"a":' + text + b"}")[0]["a"]


class TestMeaning:
    """The rules, by example; bulk or single makes no difference, as proved above."""

    def test_numbers(self) -> None:
        assert one(pa.int64(), b"9223372036854775807") == 2**63 - 1
        assert one(pa.float64(), b"123456789012345678901234567890") == 1.2345678901234568e29
        assert one(pa.decimal128(10, 2), b"0.10") == Decimal("0.10")
        assert one(pa.decimal128(10, 1), b'"1.10"') == Decimal("1.1")
        assert str(one(pa.float64(), b"NaN")) == "nan"
        assert (
            str(one(pa.float64(), b'"NaN"')) == "nan"
        )  # as Spark's to_json and our outputs write it
        assert one(pa.float32(), b'"-Infinity"') == float("-inf")

    @pytest.mark.parametrize(
        "number", ["1e300", "-1e39", "3.5e38", "340282356779733661637539395458142568448"]
    )
    @pytest.mark.parametrize("count", [1, 2, MANY])
    def test_a_number_that_a_float_does_not_hold_is_never_infinite(
        self, number: str, count: int
    ) -> None:
        values = [b'{"single":%s}' % number.encode(), b'{"single":0.5}'] * count
        parsed = JsonParser(SINGLE).parse(pa.array(values))
        assert [each.position for each in parsed.refused] == list(range(0, 2 * count, 2))
        assert parsed.refused[0].reason == f"field single is not a number of 32 bits: {number}"
        assert parsed.columns.field("single").to_pylist() == [0.5] * count

    @pytest.mark.parametrize(
        "number",
        ["3.4028235e38", "3.4028235677973362e38", "340282356700000000000000000000000000000"],
    )
    @pytest.mark.parametrize("count", [1, MANY])
    def test_what_rounds_to_the_largest_float_fits(self, number: str, count: int) -> None:
        found = rows(SINGLE, *[b'{"single":%s}' % number.encode()] * count)
        assert found == [{"single": float(np.finfo(np.float32).max)}] * count

    def test_decimals_of_more_digits_than_python_computes_with(self) -> None:
        large, digits = pa.decimal128(38, 18), b"12345678901234567890.123456789012345678"
        assert one(large, digits) == Decimal(digits.decode())
        assert one(large, b"1.234567890123456789e19") == Decimal(12345678901234567890)
        assert one(pa.decimal128(38, 0), b"9." + b"9" * 37 + b"e37") == 10**38 - 1
        refused = reason(pa.schema([("a", large)]), b'{"a":' + digits + b"1}")
        assert refused.startswith("field a is not a number with 18 decimals")

    def test_times(self) -> None:
        noon = datetime(2026, 9, 1, 12, tzinfo=UTC)
        for text in (b"2026-09-01T12:00:00Z", b"2026-09-01 12:00", b"2026-09-01T14:00:00+02:00"):
            assert one(TIME, b'"%s"' % text) == noon
        assert one(TIME, b'"2026-09-01T12:00:00.123456000Z"') == noon.replace(microsecond=123456)
        assert one(pa.timestamp("us"), b'"2026-09-01T12:00:00"') == noon.replace(tzinfo=None)
        assert one(pa.date32(), b'"2026-09-01"') == date(2026, 9, 1)

    @pytest.mark.parametrize("name", ["at", "local"])
    def test_a_time_is_not_cut_to_microseconds(self, name: str) -> None:
        schema = pa.schema([EVERY_TYPE.field(name)])
        values = [b'{"%s":"2026-09-01T12:00:00.12345678"}' % name.encode()] * MANY
        parsed = JsonParser(schema).parse(pa.array(values))
        assert len(parsed.refused) == MANY
        assert parsed.refused[0].reason.startswith(f"field {name} is not a time in whole microsec")

    def test_times_of_other_ages_as_our_outputs_write_them(self) -> None:
        """Milliseconds that were taken for seconds are of the year 58,619: tables hold such rows."""
        moments = pa.schema([("at", TIME), ("local", pa.timestamp("us")), ("day", pa.date32())])
        for day, days in ((b"+58619-01-26", 20_690_647), (b"-0005-01-01", -721_354)):
            value = b'{"at":"%s 00:00:00.000001Z","local":"%s","day":"%s"}' % (day, day, day)
            parsed = JsonParser(moments).parse(pa.array([value]))
            midnight = days * 86_400_000_000
            expected = {"at": midnight + 1, "local": midnight, "day": days}
            assert as_text(parsed.columns) == [str(expected)]
        assert "64 bits" in reason(moments, b'{"at":"+294247-01-10T04:00:54.775808Z"}')
        assert "64 bits" in reason(moments, b'{"local":"-300000-01-01T00:00:00"}')
        assert "a date" in reason(moments, b'{"day":"+5881580-07-12"}')

    def test_text_takes_any_json(self) -> None:
        assert one(pa.string(), b'"x"') == "x"
        assert one(pa.string(), b"1.50") == "1.50"
        assert one(pa.string(), b'{"b": [1, "\xc3\xa9", null, true]}') == '{"b":[1,"é",null,true]}'
        assert one(pa.string(), b'{"\xc3\xa9": {"\\"": 1}}') == '{"é":{"\\"":1}}'

    def test_maps_and_bytes(self) -> None:
        assert one(pa.map_(pa.string(), pa.int64()), b'{"b":1,"c":null}') == [("b", 1), ("c", None)]
        assert one(pa.binary(), b'"aGk="') == b"hi"

    def test_missing_extra_null_and_repeated_fields(self) -> None:
        schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
        assert rows(schema, b'{"c":1}', b'{"a":null}', b'{"a":1,"a":2,"b":"x"}', None) == [
            {"a": None, "b": None},
            {"a": None, "b": None},
            {"a": 2, "b": "x"},
            {"a": None, "b": None},
        ]

    def test_what_must_not_be_null(self) -> None:
        inner = pa.struct([pa.field("x", pa.int64(), nullable=False)])
        counts = pa.map_(pa.string(), pa.field("value", pa.int64(), nullable=False))
        schema = pa.schema(
            [
                pa.field("a", pa.int64(), nullable=False),
                ("s", inner),
                ("l", pa.list_(inner)),
                ("m", counts),
            ]
        )
        good = b'{"a":1,"s":null,"l":[null,{"x":1}],"m":{"k":1}}'
        assert rows(schema, good)[0]["a"] == 1
        assert reason(schema, None) == "field a is missing or null"
        assert reason(schema, b'{"a":1,"s":{}}') == "field s.x is missing or null"
        assert reason(schema, b'{"a":1,"l":[{"x":null}]}') == "field l[].x is missing or null"
        assert reason(schema, b'{"a":1,"m":{"k":null}}') == "field m.k is missing or null"

    @pytest.mark.parametrize(
        ("value", "said"),
        [
            (b'{"a":"x"}', 'field a is not a whole number of 64 bits: "x"'),
            (b'{"a":1.5}', "field a is not a whole number of 64 bits: 1.5"),
            (b'{"a":1', "the value is not JSON: Expecting ',' delimiter"),
            (b"[1]", "the value is not a JSON object"),
            (b'{"a":"\xff"}', "the value is not UTF-8"),
            (b'{"b":' + b"[" * 50_000 + b"]" * 50_000 + b"}", "the value is nested too deeply"),
        ],
    )
    def test_a_refusal_says_why(self, value: bytes, said: str) -> None:
        assert reason(pa.schema([("a", pa.int64())]), value).startswith(said)

    @pytest.mark.parametrize("depth", [400, 600, 990, 2_000])
    @pytest.mark.parametrize("kind", [pa.string(), pa.int64()])
    def test_a_value_nested_deeply_where_a_column_looks_stops_no_query(
        self, kind: pa.DataType, depth: int
    ) -> None:
        deep = b'{"a":' + b'{"b":' * depth + b"1" + b"}" * depth + b"}"
        values = [deep, b'{"a":null}']
        parsed = JsonParser(pa.schema([("a", kind)])).parse(pa.array(values))
        assert 1 in parsed.positions
        if 0 in parsed.positions:
            assert parsed.columns.field("a")[0].as_py().encode() == deep[5:-1]
        else:
            assert parsed.refused[0].reason.startswith(("the value is nested", "field a is not"))

    @pytest.mark.parametrize("name", ['a"b', "a\\b", "a\nb", "a\0b"])
    def test_a_column_of_any_name(self, name: str) -> None:
        schema = pa.schema([("x", pa.struct([(name, pa.int64())])), ("y", pa.string())])
        values = [json.dumps({"x": {name: each}, "y": "z"}).encode() for each in range(MANY)]
        found = rows(schema, *values)
        assert [each["x"][name] for each in found] == list(range(MANY))

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("price", "\u0661\u0662"),
            ("at", "2026-09-01T10:00:00.\u0661"),
            ("day", "\u0662026-09-01"),
        ],
    )
    def test_digits_of_other_scripts_are_none(self, name: str, text: str) -> None:
        assert reason(EVERY_TYPE, json.dumps({name: text}).encode()).startswith(f"field {name}")

    def test_types_that_json_cannot_fill_are_refused_at_once(self) -> None:
        with pytest.raises(NotSupported, match="duration"):
            JsonParser(pa.schema([("a", pa.duration("us"))]))


@pytest.mark.parametrize("every", [1, 3, 100, 5000])
@pytest.mark.parametrize("fault", [b'{"a":"x"}', b'{"a":1.5}', b"{} {}", b"garbage", None])
def test_faults_among_many_values_are_told_from_the_good_ones(
    every: int, fault: bytes | None
) -> None:
    values = [fault if at % every == 0 else b'{"a":%d}' % at for at in range(20_000)]
    parsed = JsonParser(pa.schema([("a", pa.int64())])).parse(pa.array(values, type=pa.binary()))
    good = [at for at in range(20_000) if at % every]
    faulty = range(0, 20_000, every)
    if fault is None:
        assert parsed.refused == []
        expected = [None if at % every == 0 else at for at in range(20_000)]
        assert parsed.columns.field("a").to_pylist() == expected
    else:
        assert [each.position for each in parsed.refused] == list(faulty)
        assert parsed.positions.tolist() == good
        assert parsed.columns.field("a").to_pylist() == good
