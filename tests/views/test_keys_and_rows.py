"""The bytes of changelog records: one form per key, every column in every row."""

import json

import pytest

from headwater.errors import InvalidRequest
from headwater.views import decode_key, encode_key
from headwater.views.rows import decode_row, encode_row
from rigs.changelog import make_view, revenue

VIEW = make_view("shop.revenue")


def test_a_key_is_compact_json_in_the_order_of_the_definition() -> None:
    key = encode_key(VIEW, {"customer": 7, "minute": "2026-09-01T10:00Z"})
    assert key == b'{"minute":"2026-09-01T10:00:00.000000Z","customer":7}'
    assert decode_key(VIEW, key) == json.loads(key)


def test_the_same_key_is_the_same_bytes_however_it_is_given() -> None:
    one = encode_key(VIEW, {"minute": "2026-09-01T12:00:00+02:00", "customer": "7"})
    assert one == encode_key(VIEW, {"customer": 7.0, "minute": "2026-09-01T10:00Z"})


def test_text_in_a_key_is_not_escaped() -> None:
    view = make_view("names", {"name": "string", "age": "int"}, key=("name",))
    assert encode_key(view, {"name": 'é"\n'}) == '{"name":"é\\"\\n"}'.encode()


@pytest.mark.parametrize(
    "values",
    [
        {"minute": "2026-09-01T10:00Z"},
        {"minute": "2026-09-01T10:00Z", "customer": None},
        {"minute": "2026-09-01T10:00Z", "customer": 7, "total": 1},
        {"minute": "now", "customer": 7},
    ],
)
def test_a_key_with_a_column_missing_null_wrong_or_too_many_is_refused(values: dict) -> None:
    with pytest.raises(InvalidRequest):
        encode_key(VIEW, values)


@pytest.mark.parametrize("raw", [b"7", b"[]", b"{", b"\xff", b'{"customer":7}'])
def test_bytes_that_are_no_key_are_refused(raw: bytes) -> None:
    with pytest.raises(InvalidRequest):
        decode_key(VIEW, raw)


def test_a_value_begins_with_the_columns_of_the_key() -> None:
    row = {"total": 1.5, **revenue(7), "name": "Ann"}
    value = encode_row(VIEW, row)
    assert value.startswith(encode_key(VIEW, {k: row[k] for k in VIEW.key})[:-1])
    assert list(decode_row(VIEW, value)) == list(VIEW.by_name)


def test_columns_left_out_are_null() -> None:
    found = decode_row(VIEW, b'{"minute":"2026-09-01T10:00:00.000000Z","customer":7,"extra":1}')
    assert found["total"] is None
    assert "extra" not in found


def test_decimals_and_large_numbers_survive() -> None:
    view = make_view("d", {"id": "bigint", "amount": "decimal(38,10)"}, key=("id",))
    raw = b'{"id":9223372036854775807,"amount":1234567890123456789012345678.0123456789}'
    assert decode_row(view, raw) == {
        "id": 9223372036854775807,
        "amount": "1234567890123456789012345678.0123456789",
    }


@pytest.mark.parametrize("column", ["name", "unknown"])
def test_a_number_that_nothing_can_hold_is_refused_in_any_column(column: str) -> None:
    key = encode_key(VIEW, {"minute": "2026-09-01T10:00Z", "customer": 7})
    value = key[:-1] + b',"%b":1.0e-9999999999999999999999}' % column.encode()
    with pytest.raises(InvalidRequest, match="is a number beyond all bounds"):
        decode_row(VIEW, value)
