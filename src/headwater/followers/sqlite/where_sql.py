"""A filter as a condition of SQLite, with parameters: the same rows as `views/matching.py` picks."""

from collections.abc import Mapping
from typing import Any, Final

from headwater.followers.sqlite.columns import SqlColumn
from headwater.views.where import All, AnyOf, Compare, Not, OneOf, Term, Text

Condition = tuple[str, list[Any]]

_ORDERINGS: Final = ("<", "<=", ">", ">=")


def condition(term: Term, columns: Mapping[str, SqlColumn]) -> Condition:
    """The condition and its parameters; it is always true or false, never null."""
    match term:
        case Compare(column, comparison, value):
            return _compare(columns[column.name], comparison, value)
        case OneOf(column, values):
            found = [_compare(columns[column.name], "==", each) for each in values]
            return _joined(found, " OR ", "0")
        case Text(column, test, value):
            return _text(columns[column.name], test, value)
        case Not(inner):
            text, parameters = condition(inner, columns)
            return f"NOT ({text})", parameters
        case All(terms):
            return _joined([condition(each, columns) for each in terms], " AND ", "1")
        case AnyOf(terms):
            return _joined([condition(each, columns) for each in terms], " OR ", "0")


def _compare(column: SqlColumn, comparison: str, value: Any) -> Condition:
    if value is None:
        return f"{column.name} IS {'NOT ' if comparison == '!=' else ''}NULL", []
    bound = column.bind(value)
    match comparison:
        case "==":
            return f"{column.name} IS ?", [bound]
        case "!=":
            return f"{column.name} IS NOT ?", [bound]
    assert comparison in _ORDERINGS
    # The bare comparison lets an index be used; the second half keeps NOT of it from being null.
    return f"({column.name} {comparison} ? AND {column.name} IS NOT NULL)", [bound]


def _text(column: SqlColumn, test: str, value: str) -> Condition:
    name = column.name
    found = {
        "startswith": f"substr({name}, 1, length(?)) = ?",
        "endswith": f"substr({name}, max(1, length({name}) - length(?) + 1)) = ?",
        "contains": f"instr({name}, ?) > 0",
    }[test]
    return f"({name} IS NOT NULL AND {found})", [value] * found.count("?")


def _joined(conditions: list[Condition], joint: str, when_empty: str) -> Condition:
    if not conditions:
        return when_empty, []
    text = joint.join(text for text, _ in conditions)
    return f"({text})", [each for _, parameters in conditions for each in parameters]
