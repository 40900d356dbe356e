"""Patterns that tools send: the usual ones work, those that could hold up the broker are refused."""

import pytest

from headwater.broker.transactions.patterns import compiled
from headwater.errors import InvalidRequest


@pytest.mark.parametrize(
    ("pattern", "name", "is_match"),
    [
        ("app-.*", "app-1", True),
        ("app-.*", "my-app-1", False),
        (".*app.*", "my-app-1", True),
        ("app-[0-9]+", "app-12", True),
        ("(app|job)-\\d", "job-7", True),
        ("app?-1", "ap-1", True),
        ("(?:a|b)c{2,3}", "bccc", True),
        ("", "app", False),
        (r"\Qa.p\E", "a.p", True),
        (r"\Qa.p\E", "abp", False),
        (r"\Qapp(*\E-\d+", "app(*-17", True),
        (r"x\Q.*", "x.*", True),
        (r"\\Q.", r"\Qx", True),
    ],
)
def test_usual_patterns_match_whole_ids(pattern: str, name: str, is_match: bool) -> None:
    assert bool(compiled(pattern).fullmatch(name)) is is_match


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        "[z-a]",
        "(a+)+",
        "(a*)*b",
        "(a|a+)*",
        "((ab?)+c)*",
        "(?=(a+)+)x",
        ".*.*.*.*.*x",
        "(" * 5000 + ")" * 5000,
        "a{99999999999}",
    ],
)
def test_patterns_that_could_take_for_ever_are_refused(pattern: str) -> None:
    with pytest.raises(InvalidRequest):
        compiled(pattern)
