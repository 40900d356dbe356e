"""`--where`: what matches, what is missing, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli.records import record
from headwater.client.record_filter import parse_record_filter
from headwater.errors import InvalidRequest


@pytest.mark.parametrize(
    "expression",
    [
        "value.total > 100",
        "value['total'] == 150",
        "value.at.city == 'Bern'",
        "value.tags[0] == 'x'",
        "value.tags[-1] == 'y'",
        "'x' in value.tags",
        "value.name in ('Ann', 'Bob')",
        "value.name not in ['Bob']",
        "key == '7' and partition == 2",
        "int(key) > 6",
        "key == '8' or offset == 41",
        "not value.cancelled",
        "value.missing is None",
        "100 < value.total <= 150",
        "value.total % 100 == 50",
        "value.total - 50 == 2 * 50 and value.total / 3 == 50",
        "headers.kind == 'new'",
        "headers['kind'].startswith('n')",
        "value.name.lower() == 'ann'",
        "len(value.tags) == 2",
        "topic == 'orders' and timestamp_ms > 1600000000000",
        "-value.total < 0",
        "True",
    ],
)
def test_what_matches(expression: str) -> None:
    assert parse_record_filter(expression)(record())


@pytest.mark.parametrize(
    "expression",
    [
        "value.total > 200",
        "value.missing > 1",
        "value.missing.deeper == 1",
        "value.name > 5",
        "value.name + 1 == 2",
        "value.total / 0 == 1",
        "value.tags[9] == 'x'",
        "int(value.name) == 1",
        "value.total.startswith('1')",
        "value.total in 5",
        "headers.other == 'x'",
    ],
)
def test_what_is_missing_or_of_another_type_does_not_match(expression: str) -> None:
    assert not parse_record_filter(expression)(record())


@pytest.mark.parametrize("value", [None, b"", b"plain text", b"\xff\x00", b"[1]", b"7"])
def test_any_value_can_be_asked(value: bytes | None) -> None:
    assert not parse_record_filter("value.total > 100")(record(value))


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "value.total >",
        "total > 100",
        "__import__('os')",
        "open('/etc/passwd')",
        "(lambda: 1)()",
        "[x for x in value]",
        "value.__class__.__base__()",
        "'x'.format(value)",
        "2 ** 99999999",
        "1 << 99",
        "~1",
        "f'{value}'",
        "(y := 1)",
        "value if key else offset",
        "len(value, key)",
        "value.name.startswith(prefix='A')",
        "await value",
        "{'a': 1}",
        "value.tags[0:1]",
        "(" * 500 + "1" + ")" * 500,
        "key == '" + "x" * 3000 + "'",
        "\0",
    ],
)
def test_what_is_not_a_filter_is_refused(expression: str) -> None:
    with pytest.raises(InvalidRequest):
        parse_record_filter(expression)


def test_private_names_are_only_looked_up_in_the_data() -> None:
    assert parse_record_filter("value.__class__ is None")(record())


def test_text_times_a_number_does_not_fill_the_memory() -> None:
    assert not parse_record_filter("'x' * 10000000000 == 'x'")(record())


@given(st.text(alphabet="value.keyo[]()'\"0123456789<>=! andortni+-*/%,", max_size=60))
def test_any_text_is_a_filter_or_refused(text: str) -> None:
    try:
        matches = parse_record_filter(text)
    except InvalidRequest:
        return
    assert matches(record()) in (True, False)
