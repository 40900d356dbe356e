"""The spelling of the contract: what our own writers write is taken without a second look."""

import tracemalloc
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.views import Column, View, encode_key, parse_type
from headwater.views.rows import encode_row
from headwater.views.spelling import key_checker, keys_in_rows, respeller
from rigs.changelog import make_view

COLUMNS = {
    "id": "bigint",
    "größe in 'cm.": "string",
    "flag": "boolean",
    "cents": "decimal(20,2)",
    "real": "double",
    "raw": "binary",
    "day": "date",
    "at": "timestamp",
    "local": "timestamp_ntz",
    "tags": "array<struct<a:int,b:string>>",
}

VIEW = make_view("spelt", COLUMNS, key=tuple(COLUMNS)[:2])
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=9)
ROWS = st.fixed_dictionaries(
    {"id": st.integers(-(10**18) + 1, 10**18 - 1), tuple(COLUMNS)[1]: TEXT},
    optional={
        "flag": st.booleans(),
        "cents": st.decimals(-(10**17), 10**17, places=2),
        "real": st.floats(-1e30, 1e30).filter(lambda x: x == 0 or abs(x) > 1e-30),
        "raw": st.binary(max_size=9),
        "day": st.dates().filter(lambda day: (day.month, day.day) != (2, 29)),
        "at": st.datetimes().filter(lambda at: (at.month, at.day) != (2, 29)),
        "local": st.datetimes().filter(lambda at: (at.month, at.day) != (2, 29)),
        "tags": st.lists(st.fixed_dictionaries({"a": st.integers(0, 9), "b": TEXT}), max_size=3),
    },
)
are_keys, keys_in = key_checker(VIEW), keys_in_rows(VIEW)


@given(ROWS)
def test_what_is_encoded_here_matches(row: dict[str, Any]) -> None:
    key = encode_key(VIEW, {name: row[name] for name in VIEW.key})
    assert are_keys([key])
    assert keys_in([encode_row(VIEW, row)]) == [key]


@pytest.mark.parametrize(
    "rest",
    [
        b',"cents":12.50,"real":1.0E10,"raw":null',  # as Spark writes it
        b',"real":-3.5E-7,"tags":[{"a":null,"b":"x"},null]',
        b',"tags":[]',
        b"",
    ],
)
def test_what_spark_writes_matches(rest: bytes) -> None:
    key = encode_key(VIEW, {"id": 7, tuple(COLUMNS)[1]: "a\tb"})
    assert keys_in([key[:-1] + rest + b"}"]) == [key]


def test_so_does_a_key_whose_columns_are_defined_apart_and_in_another_order() -> None:
    columns = {"minute": "timestamp", "minute_end": "timestamp", "id": "int", "n": "int"}
    view = make_view("apart", columns, key=("id", "minute"))
    at = "2026-09-01T10:00:00.000000Z"
    row = f'{{"minute":"{at}","minute_end":null,"id":7,"n":1}}'.encode()
    key = encode_key(view, {"minute": at, "id": 7})
    assert keys_in_rows(view)([row, row]) == [key, key]
    assert keys_in_rows(view)([encode_row(view, {"minute": at, "id": 7})]) == [key]
    assert keys_in_rows(view)([row, row[:-1] + b',"n":2}']) is None


@pytest.mark.parametrize("place", [0, 1, 2])
def test_values_are_told_apart_whatever_is_in_them(place: int) -> None:
    view = make_view("lines", {"id": "int", "n": "int"}, key=("id",))
    rows = [b'{"id":1,"n":2}', b'{"id":2,"n":2}', b'{"id":3,"n":2}']
    keys_of = keys_in_rows(view)
    assert keys_of(rows) == [b'{"id":1}', b'{"id":2}', b'{"id":3}']
    assert keys_of([]) == []
    for odd in (b"", b"\n", rows[0] + b"\n", b"\n" + rows[0], rows[0] + b"\n" + rows[1]):
        assert keys_of([*rows[:place], odd, *rows[place + 1 :]]) is None
    # As many lines that are rows as there are values, but not one in each.
    both, none = b"\n".join(rows[:2]), b"{}"
    assert keys_of([both, none]) is None


@pytest.mark.parametrize(
    "rest",
    [
        b',"flag":1',
        b',"flag":true,"flag":true',
        b',"real":"NaN","flag":true',
        b',"other":1',
        b',"at":"2026-02-29T00:00:00.000000Z"',
        b',"tags":[1],"flag":7,"tags":[2]',
        b',"tags":[1,]',
        b',"tags":[[[[1]]]]',
        b' ,"flag":true',
        rb',"tags":["\ud800"]',
        b',"tags":["\xff"]',
        b',"at":null,"at":null',
    ],
)
def test_what_deserves_a_second_look_does_not(rest: bytes) -> None:
    key = encode_key(VIEW, {"id": 7, tuple(COLUMNS)[1]: ""})
    assert keys_in([key[:-1] + rest + b"}"]) is None


def test_decimals_in_keys_are_brought_into_one_spelling() -> None:
    columns = {"a": "decimal(5,2)", "b": "string", "c": "decimal(20,0)"}
    view = make_view("spelt", columns, key=("a", "b", "c"))
    key = encode_key(view, {"a": "1", "b": ',"a":1,', "c": "-7"})
    by_spark = rb'{"a":1.00,"b":",\"a\":1,","c":-7}'
    assert respeller(view)([key, by_spark, None]) == [key, key, None]
    assert keys_in_rows(view)([key, by_spark]) == [key, key]
    assert keys_in_rows(view)([by_spark.replace(b"1.00", b"1.0")]) is None
    assert keys_in_rows(view)([by_spark.replace(b"1.00", b"-0.00")]) is None


@pytest.mark.parametrize(
    ("of", "fits", "does_not"),
    [
        ("tinyint", [0, 9, 99, 100, 119, 120, 127, -127], [128, 130, 200, 500, -129, 1000]),
        ("smallint", [32767, 32766, 29999, 10000, -32767], [32768, 32770, 33000, 40000, 100000]),
        ("int", [2147483647, 1_790_000_000, 999_999_999], [2147483648, 2200000000, 3000000000]),
        ("bigint", [2**63 - 1, 10**18, 9 * 10**18 - 1], [2**63, 93 * 10**17, 10**19]),
    ],
)
def test_whole_numbers_match_up_to_the_largest_of_their_type(
    of: str, fits: list[int], does_not: list[int]
) -> None:
    keys_of = keys_in_rows(make_view("whole", {"id": "int", "n": of}, key=("id",)))
    assert all(keys_of([b'{"id":1,"n":%d}' % each]) for each in fits)
    assert not any(keys_of([b'{"id":1,"n":%d}' % each]) for each in does_not)


@pytest.mark.parametrize(("of", "value"), [("int", b"2"), ("array<int>", b"[null]")])
def test_a_column_that_is_never_null_is_neither_null_nor_left_out(of: str, value: bytes) -> None:
    columns = (Column("id", parse_type("int")), Column("n", parse_type(of), is_nullable=False))
    keys_of = keys_in_rows(View("strict", "strict", ("id",), columns))
    assert keys_of([b'{"id":1,"n":%b}' % value]) == [b'{"id":1}']
    assert keys_of([b'{"id":1,"n":null}']) is None
    assert keys_of([b'{"id":1}']) is None


LONG: dict[str, tuple[str, bytes, bytes]] = {
    "numbers": ("array<double>", b"1.5,", b"[%b1]"),
    "escapes": ("string", rb"\n", b'"%b"'),
    "text": ("string", b"x", b'"%b"'),
    "base64": ("binary", b"YWJj", b'"%b"'),
    "objects": ("array<struct<a:int>>", b'{"a":[1,null]},', b"[%b{}]"),
    "names": ("map<string,int>", rb'"\"a":1,', b'{%b"b":2}'),
}


@pytest.mark.parametrize("end", [b"}", b"x}"], ids=["that matches", "that does not"])
@pytest.mark.parametrize("kind", LONG)
def test_a_long_value_takes_little_memory(kind: str, end: bytes) -> None:
    of, repeated, frame = LONG[kind]
    keys_of = keys_in_rows(make_view("long", {"id": "int", "c": of}, key=("id",)))
    value = b'{"id":1,"c":%b' % (frame % (repeated * (2_000_000 // len(repeated)))) + end
    tracemalloc.start()
    found = keys_of([value])  # were its time quadratic, the limit of the test would end it
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found == ([b'{"id":1}'] if end == b"}" else None)
    assert peak < 4 * len(value)


def test_a_view_of_many_nested_columns_is_not_compiled_for_seconds() -> None:
    columns = {"id": "int"} | {f"c{n}": "struct<a:int>" for n in range(900)}
    view = make_view("nested", columns, key=("id",))
    assert keys_in_rows(view)([b'{"id":1}']) is None  # for a second look
    few = make_view("few", dict([*columns.items()][:40]), key=("id",))
    assert keys_in_rows(few)([b'{"id":1,"c7":{"a":1}}']) == [b'{"id":1}']
