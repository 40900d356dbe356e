"""Records as JSON lines: readable for people, exact for import."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.records import record
from headwater.cli.output import as_json
from headwater.client.record import decode_text
from headwater.client.record_json import exact, parse_exact, readable


@pytest.mark.parametrize(
    "value",
    [
        None, b"", b"null", b"7", b'"text"', b"text", b'{"a":1}', b'{"a": 1}', b"\xff\xfe", b"1.0",
        b'{"a":1,"a":2}', b"[1,2]\n", b"NaN", b"1e400", b"\xef\xbb\xbf{}", b'"\\ud800"', b"\r\n",
        b"[" * 100_000,
    ],
)  # fmt: skip
def test_every_value_comes_back_byte_by_byte(value: bytes | None) -> None:
    assert parse_exact(as_json(exact(record(value)))).value == value


@given(
    value=st.none() | st.binary(max_size=40) | st.text(max_size=20).map(str.encode),
    key=st.none() | st.binary(max_size=20),
    headers=st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=9)), max_size=3),
)
def test_every_record_comes_back(
    value: bytes | None, key: bytes | None, headers: list[tuple[str, bytes | None]]
) -> None:
    original = record(value, None if key is None else decode_text(key), tuple(headers))
    line = parse_exact(as_json(exact(original)))
    assert (line.value, line.key, line.headers) == (value, key, tuple(headers))
    assert (line.partition, line.offset, line.timestamp_ms) == (2, 41, 1_700_000_000_123)


def test_readable_values_are_json_when_they_can_be() -> None:
    assert readable(record(b'{"a": 1}'))["value"] == {"a": 1}
    assert readable(record(b"plain"))["value"] == "plain"
    assert readable(record(b"\xff"))["value"] is None
    assert readable(record(b"\xff"))["value_base64"] == "/w=="
    assert readable(record(None))["value"] is None


@pytest.mark.parametrize(
    "line", ["", "7", "[]", "{}", '{"value":1,"partition":"x"}', '{"value":1,"headers":[1]}']
)
def test_a_line_that_is_not_a_record_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parse_exact(line)


def test_a_line_written_by_hand_needs_only_a_value() -> None:
    line = parse_exact(json.dumps({"value": {"a": 1}, "key": "k"}))
    assert (line.key, line.value, line.partition) == (b"k", b'{"a":1}', None)
