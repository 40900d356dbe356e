"""The spelling of the contract: what our own writers write is taken without a second look."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headwater.views import encode_key
from headwater.views.rows import encode_row
from headwater.views.spelling import key_matcher, keys_in_rows
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
is_key, keys_in = key_matcher(VIEW), keys_in_rows(VIEW)


@given(ROWS)
def test_what_is_encoded_here_matches(row: dict[str, Any]) -> None:
    key = encode_key(VIEW, {name: row[name] for name in VIEW.key})
    assert is_key(key)
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
    ],
)
def test_what_deserves_a_second_look_does_not(rest: bytes) -> None:
    key = encode_key(VIEW, {"id": 7, tuple(COLUMNS)[1]: ""})
    assert keys_in([key[:-1] + rest + b"}"]) is None
