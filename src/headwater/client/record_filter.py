"""`--where`: a safe part of Python's expressions, compiled once into a function of a record.

    value.total > 100 and key == "7"          headers["kind"] in ("new", "changed")

Names are `key value headers topic partition offset timestamp_ms`. A dot or [..] looks into JSON.
What is missing, or of another type, makes a comparison false, never an error: one odd record does
not stop a tail. Nothing is evaluated by Python itself: what is not in the tables below is refused.
"""

import ast
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

from headwater.client.record import Record, decode_text
from headwater.client.record_json import readable_value
from headwater.errors import InvalidRequest

Term = Callable[[Record], Any]

MAX_LENGTH = 2000


def parse_record_filter(text: str) -> Callable[[Record], bool]:
    """Whether a record matches; raises InvalidRequest for what is not a filter."""
    if len(text) > MAX_LENGTH:
        raise InvalidRequest(what=f"the filter is longer than {MAX_LENGTH} characters")
    try:
        tree = ast.parse(text.strip(), mode="eval")
        term = _compile(tree.body)
    except (SyntaxError, RecursionError, ValueError) as error:
        raise InvalidRequest(
            what=f"{text!r} is not a filter: {error}", hint="write, for example: value.total > 100"
        ) from error
    return lambda record: bool(term(record))


def _compile(node: ast.expr) -> Term:
    compiler = _COMPILERS.get(type(node))
    if compiler is None:
        raise InvalidRequest(
            what=f"a filter cannot contain {ast.unparse(node)!r}",
            hint="use comparisons, and/or/not, in, arithmetic, and the names key value headers "
            "topic partition offset timestamp_ms",
        )
    return compiler(node)


def _constant(node: ast.Constant) -> Term:
    return lambda _: node.value


def _name(node: ast.Name) -> Term:
    if node.id not in _NAMES:
        raise InvalidRequest(
            what=f"a record has no {node.id!r}", hint=f"there are {', '.join(_NAMES)}"
        )
    return _NAMES[node.id]


def _attribute(node: ast.Attribute) -> Term:
    inner = _compile(node.value)
    return lambda record: _look_up(inner(record), node.attr)


def _subscript(node: ast.Subscript) -> Term:
    inner, index = _compile(node.value), _compile(node.slice)
    return lambda record: _look_up(inner(record), index(record))


def _sequence(node: ast.Tuple | ast.List | ast.Set) -> Term:
    terms = [_compile(element) for element in node.elts]
    return lambda record: [term(record) for term in terms]


def _boolean(node: ast.BoolOp) -> Term:
    terms = [_compile(value) for value in node.values]
    combine = all if isinstance(node.op, ast.And) else any
    return lambda record: combine(term(record) for term in terms)


def _unary(node: ast.UnaryOp) -> Term:
    term = _compile(node.operand)
    if isinstance(node.op, ast.Not):
        return lambda record: not term(record)
    if isinstance(node.op, ast.USub):
        return lambda record: _arithmetic(operator.sub, 0, term(record))
    raise InvalidRequest(what=f"a filter cannot contain {ast.unparse(node)!r}")


def _binary(node: ast.BinOp) -> Term:
    apply = _ARITHMETIC.get(type(node.op))
    if apply is None:
        raise InvalidRequest(what=f"a filter cannot contain {ast.unparse(node)!r}")
    left, right = _compile(node.left), _compile(node.right)
    return lambda record: _arithmetic(apply, left(record), right(record))


def _compare(node: ast.Compare) -> Term:
    first = _compile(node.left)
    rest = [
        (_COMPARISONS[type(op)], _compile(right))
        for op, right in zip(node.ops, node.comparators, strict=True)
    ]

    def holds(record: Record) -> bool:
        left = first(record)
        for comparison, term in rest:
            right = term(record)
            if not _compares(comparison, left, right):
                return False
            left = right
        return True

    return holds


def _call(node: ast.Call) -> Term:
    if node.keywords:
        raise InvalidRequest(what=f"a filter cannot contain {ast.unparse(node)!r}")
    arguments = [_compile(argument) for argument in node.args]
    if isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS and len(arguments) == 1:
        return partial(_call_function, _FUNCTIONS[node.func.id], arguments[0])
    if isinstance(node.func, ast.Attribute) and _METHODS.get(node.func.attr) == len(arguments):
        return partial(_call_method, node.func.attr, _compile(node.func.value), arguments)
    raise InvalidRequest(
        what=f"a filter cannot call {ast.unparse(node.func)!r}",
        hint=f"there are {', '.join(_FUNCTIONS)} and, on text, {', '.join(_METHODS)}",
    )


def _call_function(function: Callable[[Any], Any], term: Term, record: Record) -> Any:
    try:
        return function(term(record))
    except (TypeError, ValueError, OverflowError):
        return None


def _call_method(name: str, term: Term, arguments: list[Term], record: Record) -> Any:
    text = term(record)
    values = [argument(record) for argument in arguments]
    if not isinstance(text, str) or not all(isinstance(value, str) for value in values):
        return None
    return getattr(text, name)(*values)


def _look_up(container: Any, key: Any) -> Any:
    try:
        return container[key]
    except (KeyError, IndexError, TypeError):
        return None


def _compares(comparison: Callable[[Any, Any], bool], left: Any, right: Any) -> bool:
    try:
        return comparison(left, right)
    except TypeError:
        return False


def _arithmetic(apply: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """On numbers only: text times a number could fill the memory."""
    if not isinstance(left, int | float) or not isinstance(right, int | float):
        return None
    try:
        return apply(left, right)
    except (ArithmeticError, ValueError):
        return None


_NAMES: dict[str, Term] = {
    "key": lambda record: record.key,
    "value": lambda record: readable_value(record.raw_value),
    "headers": lambda record: {
        name: None if value is None else decode_text(value) for name, value in record.headers
    },
    "topic": lambda record: record.topic,
    "partition": lambda record: record.partition,
    "offset": lambda record: record.offset,
    "timestamp_ms": lambda record: record.timestamp_ms,
}

_FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "len": len,
    "int": int,
    "float": float,
    "str": str,
    "abs": abs,
}
_METHODS = {"startswith": 1, "endswith": 1, "lower": 0, "upper": 0, "strip": 0}

_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}

_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
    ast.Is: lambda left, right: left is right,
    ast.IsNot: lambda left, right: left is not right,
}

_COMPILERS: dict[type[ast.expr], Callable[[Any], Term]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Tuple: _sequence,
    ast.List: _sequence,
    ast.Set: _sequence,
    ast.BoolOp: _boolean,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.Compare: _compare,
    ast.Call: _call,
}
