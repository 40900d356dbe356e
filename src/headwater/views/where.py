"""`where`: which rows are meant, in a safe part of Python's expressions over a view's columns.

    customer == 7 and minute >= "2026-09-01T10:00Z"        name.startswith("A") or not paid

There are comparisons, `and or not in is`, `None`, and on text `startswith`, `endswith` and `"a" in name`.
A column whose name is not a Python name is `row["that name"]`. Literals are checked against the column's
type here, once. A null equals nothing but None: `!=` holds for it, no other comparison with a value does.
Nothing is evaluated by Python: an expression becomes the terms below, which a store turns into its own
language, and which `matching.py` turns into a test of single rows; both mean the same.
"""

import ast
from dataclasses import dataclass
from keyword import iskeyword
from typing import Any, Final, Literal

from headwater.errors import InvalidRequest
from headwater.views.column_types import ColumnType
from headwater.views.definition import Column, View

Comparison = Literal["==", "!=", "<", "<=", ">", ">="]
TextTest = Literal["startswith", "endswith", "contains"]

MAX_LENGTH: Final = 2000
MOST_TERMS: Final = 200


@dataclass(frozen=True, slots=True)
class Compare:
    """A column beside a canonical value; None only with == and !=."""

    column: Column
    comparison: Comparison
    value: Any


@dataclass(frozen=True, slots=True)
class OneOf:
    column: Column
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Text:
    column: Column
    test: TextTest
    value: str


@dataclass(frozen=True, slots=True)
class Not:
    term: "Term"


@dataclass(frozen=True, slots=True)
class All:
    terms: tuple["Term", ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    terms: tuple["Term", ...]


Term = Compare | OneOf | Text | Not | All | AnyOf


@dataclass(frozen=True, slots=True)
class Where:
    """A filter: its text, its meaning, and the columns it looks at."""

    text: str
    term: Term
    columns: frozenset[str]

    def is_about_key(self, view: View) -> bool:
        """Whether a row can never enter or leave this filter by a change."""
        return self.columns <= set(view.key)


def parse_where(view: View, text: str) -> Where:
    """Compile a filter for a view; raises `InvalidRequest` for what is not one."""
    if len(text) > MAX_LENGTH:
        raise InvalidRequest(f"the filter is longer than {MAX_LENGTH} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval")
        parser = _Parser(view)
        term = parser.term(tree.body)
    except (SyntaxError, RecursionError, ValueError, MemoryError) as error:
        raise InvalidRequest(
            f"{text!r} is not a filter: {error}",
            hint=f"write, for example: {_written(view.key[0])} == ... and "
            f"{_written(view.columns[-1].name)} != None",
        ) from error
    return Where(text, term, frozenset(parser.columns))


class _Parser:
    def __init__(self, view: View) -> None:
        self._view = view
        self._terms = 0
        self.columns: set[str] = set()

    def term(self, node: ast.expr) -> Term:
        self._terms += 1
        if self._terms > MOST_TERMS:
            raise InvalidRequest(f"the filter has more than {MOST_TERMS} terms")
        match node:
            case ast.BoolOp(op=ast.And(), values=values):
                return All(tuple(self.term(each) for each in values))
            case ast.BoolOp(values=values):
                return AnyOf(tuple(self.term(each) for each in values))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return Not(self.term(operand))
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                return self._chain([left, *comparators], ops)
            case ast.Call(
                func=ast.Attribute(value=column, attr=attr), args=[argument], keywords=[]
            ):
                return self._text_test(node, column, attr, argument)
            case ast.Name() | ast.Subscript():
                return self._truth(self._column(node))
        raise _refused(node)

    def _chain(self, operands: list[ast.expr], ops: list[ast.cmpop]) -> Term:
        """`a < b <= c` is two comparisons."""
        pairs = zip(operands, ops, operands[1:], strict=False)
        terms = tuple(self._compare(left, op, right) for left, op, right in pairs)
        return terms[0] if len(terms) == 1 else All(terms)

    def _compare(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> Term:
        if isinstance(op, ast.In | ast.NotIn):
            found = self._membership(left, right)
            return Not(found) if isinstance(op, ast.NotIn) else found
        comparison = _COMPARISONS[type(op)]
        if _is_literal(left):
            left, right, comparison = right, left, _FLIPPED[comparison]
        column, value = self._column(left), _literal(right)
        if value is None:
            if comparison not in ("==", "!="):
                raise InvalidRequest(f"nothing is smaller or greater than None: {column.name}")
            return Compare(column, comparison, None)
        if comparison not in _allowed(column.type):
            raise InvalidRequest(
                f"{column.name} is a {column.type.name}, which has no {comparison}",
                hint=f"it has {', '.join(_allowed(column.type)) or '== None and != None'}",
            )
        return Compare(column, comparison, column.type.canonical(value))

    def _membership(self, left: ast.expr, right: ast.expr) -> Term:
        if isinstance(right, ast.Tuple | ast.List | ast.Set):
            column = self._column(left)
            if "==" not in _allowed(column.type):
                raise InvalidRequest(f"{column.name} is a {column.type.name}, which has no in")
            values = (column.type.canonical(_literal(each)) for each in right.elts)
            return OneOf(column, tuple(values))
        return self._text(self._column(right), "contains", _literal(left))

    def _text_test(self, node: ast.expr, column: ast.expr, test: str, value: ast.expr) -> Term:
        match test:
            case "startswith" | "endswith":
                return self._text(self._column(column), test, _literal(value))
        raise _refused(node)

    def _text(self, column: Column, test: TextTest, value: Any) -> Term:
        if column.type.kind != "string" or not isinstance(value, str):
            raise InvalidRequest(
                f"{test} is for text, and {column.name} is a {column.type.name}"
                if column.type.kind != "string"
                else f"{test} needs text, not {value!r}"
            )
        return Text(column, test, column.type.canonical(value))

    def _truth(self, column: Column) -> Term:
        if column.type.kind != "boolean":
            raise InvalidRequest(
                f"{column.name} is a {column.type.name}, which alone is neither true nor false",
                hint=f"write, for example: {column.name} != None",
            )
        return Compare(column, "==", True)

    def _column(self, node: ast.expr) -> Column:
        match node:
            case ast.Name(id=name):
                pass
            case ast.Subscript(value=ast.Name(id="row"), slice=ast.Constant(value=str(name))):
                pass
            case _:
                raise _refused(node)
        column = self._view.by_name.get(name)
        if column is None:
            names = ", ".join(self._view.by_name)
            raise InvalidRequest(
                f"view {self._view.name!r} has no column {name!r}", hint=f"there are {names}"
            )
        self.columns.add(name)
        return column


def _written(column: str) -> str:
    """How a filter names a column."""
    is_name = column.isidentifier() and not iskeyword(column)
    return column if is_name else f"row[{column!r}]"


def _refused(node: ast.expr) -> InvalidRequest:
    return InvalidRequest(
        f"a filter cannot contain {ast.unparse(node)!r}",
        hint='compare columns with literals: customer == 7 and not name.startswith("A")',
    )


def _is_literal(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant | ast.UnaryOp)


def _literal(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=None | bool() | int() | float() | str() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
    raise _refused(node)


def _allowed(of: ColumnType) -> tuple[Comparison, ...]:
    match of.kind:
        case "json":
            return ()
        case "boolean" | "binary":
            return ("==", "!=")
    return ("==", "!=", "<", "<=", ">", ">=")


_COMPARISONS: Final[dict[type[ast.cmpop], Comparison]] = {
    ast.Eq: "==",
    ast.Is: "==",
    ast.NotEq: "!=",
    ast.IsNot: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
_FLIPPED: Final[dict[Comparison, Comparison]] = {
    "==": "==",
    "!=": "!=",
    "<": ">",
    "<=": ">=",
    ">": "<",
    ">=": "<=",
}
