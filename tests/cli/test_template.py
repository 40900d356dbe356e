r"""`-f` templates."""

import pytest

from cli.records import record
from headwater.cli.template import parse_template
from headwater.errors import InvalidRequest


@pytest.mark.parametrize(
    ("template", "printed"),
    [
        ("%k %v\\n", b"7 x\n"),
        ("%t/%p@%o", b"orders/2@41"),
        ("%d", b"1700000000123"),
        ("%D", b"2023-11-14T22:13:20.123+00:00"),
        ("%h", b"kind=new"),
        ("%K,%V", b"1,1"),
        ("100%% \\t\\r\\0\\\\", b"100% \t\r\0\\"),
        ("ü", "ü".encode()),
        ("", b""),
    ],
)
def test_every_verb(template: str, printed: bytes) -> None:
    assert parse_template(template)(record(b"x")) == printed


def test_bytes_go_through_unchanged_and_nothing_is_empty() -> None:
    assert parse_template("%v")(record(b"\xff\x00")) == b"\xff\x00"
    assert parse_template("%k|%v")(record(None, key=None)) == b"|"


@pytest.mark.parametrize("template", ["%x", "%", "\\q", "a\\"])
def test_a_mistake_is_found_before_reading(template: str) -> None:
    with pytest.raises(InvalidRequest, match="template"):
        parse_template(template)
