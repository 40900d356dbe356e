"""Whether a row matches a filter: the terms of `where.py` as one function of a row."""

import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from headwater.views.column_types import ColumnType
from headwater.views.definition import View
from headwater.views.where import All, AnyOf, Compare, Comparison, Not, OneOf, Term, Text, Where

Row = Mapping[str, Any]
"""Canonical JSON values by column."""

Test = Callable[[Row], bool]

_OPERATORS: Final[dict[Comparison, Callable[[Any, Any], bool]]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def matcher(where: Where) -> Test:
    """The function that says whether a row matches."""
    return _test(where.term)


def key_values(where: Where, view: View) -> Row | None:
    """The values that a filter like `a == 1 and b == 2` over columns of the key asks for; else None."""
    terms = where.term.terms if isinstance(where.term, All) else (where.term,)
    values: dict[str, Any] = {}
    for each in terms:
        if not isinstance(each, Compare) or each.comparison != "==" or each.value is None:
            return None
        if each.column.name not in view.key or each.column.name in values:
            return None
        values[each.column.name] = each.value
    return values


def _test(term: Term) -> Test:
    match term:
        case Compare():
            return _comparison(term)
        case OneOf(column, values):
            tests = [_comparison(Compare(column, "==", each)) for each in values]
            return lambda row: any(test(row) for test in tests)
        case Text():
            return _text_test(term)
        case Not(inner):
            negated = _test(inner)
            return lambda row: not negated(row)
        case All(terms):
            tests = [_test(each) for each in terms]
            return lambda row: all(test(row) for test in tests)
        case AnyOf(terms):
            tests = [_test(each) for each in terms]
            return lambda row: any(test(row) for test in tests)


def _comparison(term: Compare) -> Test:
    name, of = term.column.name, term.column.type
    if term.value is None:
        wanted = term.comparison == "=="
        return lambda row: (row.get(name) is None) is wanted
    compare, value = _OPERATORS[term.comparison], _ordered(of, term.value)
    when_null = term.comparison == "!="

    def test(row: Row) -> bool:
        found = row.get(name)
        return when_null if found is None else compare(_ordered(of, found), value)

    return test


def _text_test(term: Text) -> Test:
    name, value = term.column.name, term.value
    tests: dict[str, Callable[[str], bool]] = {
        "startswith": lambda text: text.startswith(value),
        "endswith": lambda text: text.endswith(value),
        "contains": lambda text: value in text,
    }
    test = tests[term.test]
    return lambda row: row.get(name) is not None and test(row[name])


def _ordered(of: ColumnType, value: Any) -> Any:
    """What sorts as the column does; NaN is greater than every number, as in Spark."""
    match of.kind:
        case "decimal":
            return Decimal(str(value))
        case "floating":
            return (True, 0.0) if value == "NaN" else (False, float(value))
    return value
