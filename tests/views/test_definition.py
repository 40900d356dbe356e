"""Definitions: what is written is what is read, and nonsense is one sentence."""

import json
from typing import Any

import pytest

from headwater.errors import InvalidRequest
from headwater.views import Column, Step, View, decode_definition, encode_definition, parse_type
from rigs.changelog import make_view

GOOD: dict[str, Any] = {
    "name": "shop.revenue",
    "topic": "shop.revenue",
    "key": ["minute", "customer"],
    "columns": [
        {"name": "minute", "type": "timestamp", "nullable": False},
        {"name": "customer", "type": "bigint"},
        {"name": "tags", "type": "array<string>"},
    ],
    "comment": "",
    "pipeline": "shop",
    "version": 3,
}


def test_a_definition_is_read_as_it_was_written() -> None:
    view = make_view(
        "shop.revenue", comment="é", pipeline="shop", version=7, indexes=(("total",),), group="g"
    )
    assert decode_definition(encode_definition(view)) == view
    steps = (Step(("orders",), "g1", "checked"), Step(("checked", "x"), "g2", "shop.revenue"))
    view = make_view("shop.revenue", steps=steps)
    assert decode_definition(encode_definition(view)) == view
    assert [view.tells_of(each) for each in ("orders", "x", "shop.revenue", "y")] == [1, 1, 1, 0]


def test_fields_that_are_not_known_are_ignored_and_others_have_defaults() -> None:
    written = {**GOOD, "owner": "somebody"}
    del written["comment"], written["version"]
    view = decode_definition(json.dumps(written).encode())
    assert (view.comment, view.version, view.indexes) == ("", 1, ())
    assert view.columns[1] == Column("customer", parse_type("bigint"), is_nullable=True)


@pytest.mark.parametrize(
    "change",
    [
        {"name": "a b"},
        {"name": ".."},
        {"name": "."},
        {"name": 7},
        {"topic": "no/slash"},
        {"key": []},
        {"key": ["minute", "minute"]},
        {"key": ["missing"]},
        {"key": ["tags"]},
        {"key": "minute"},
        {"columns": []},
        {"columns": [{"name": "a", "type": "int"}, {"name": "A", "type": "int"}], "key": ["a"]},
        {"columns": [{"name": 'a"b', "type": "int"}], "key": ['a"b']},
        {"columns": [{"name": "a", "type": "text"}], "key": ["a"]},
        {"columns": [{"name": "a", "type": "int", "nullable": "no"}], "key": ["a"]},
        {"version": "2"},
        {"indexes": [["missing"]]},
        {"steps": [{"reads": ["orders"], "group": "g"}]},
        {"steps": [{"reads": "orders", "group": "g", "writes": "shop.revenue"}]},
        {"steps": [{"reads": ["orders"], "group": "g", "writes": "elsewhere"}]},
    ],
)
def test_a_definition_that_makes_no_sense_is_refused_in_one_sentence(
    change: dict[str, Any],
) -> None:
    with pytest.raises(InvalidRequest) as raised:
        decode_definition(json.dumps({**GOOD, **change}).encode())
    assert "\n" not in str(raised.value)


def test_a_topic_must_leave_room_for_the_name_of_its_dead_letters() -> None:
    longest = {**GOOD, "topic": "t" * 244, "steps": []}
    assert decode_definition(json.dumps(longest).encode()).topic == longest["topic"]
    with pytest.raises(InvalidRequest, match="too long a name"):
        decode_definition(json.dumps({**longest, "topic": "t" * 245}).encode())


@pytest.mark.parametrize("raw", [b"", b"[]", b"null", b"\xff", b"7", b"[" * 100_000])
def test_what_is_no_definition_at_all_is_refused(raw: bytes) -> None:
    with pytest.raises(InvalidRequest, match="not the definition of a view"):
        decode_definition(raw)


def test_the_short_name_is_the_last_part() -> None:
    assert make_view("shop.eu.revenue").short_name == "revenue"
    assert isinstance(make_view("revenue"), View)
