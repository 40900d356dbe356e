"""The types of what a query keeps as state: Spark compares them too, but late and in words of its own.

They are those of the optimized plan, since only columns that are still needed there are kept.
"""

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any, Final

from pyspark.sql import DataFrame

from headwater.streams.run.logical_plan import analyzed, kind_of, members, within


def state_types_of(frame: DataFrame) -> tuple[str, ...]:
    """One line for each operator that keeps state, from the sources on."""
    if not frame.isStreaming:
        return ()
    plan = analyzed(frame).clone()
    session = frame.sparkSession._jsparkSession  # noqa: SLF001
    return tuple(_lines(session.sessionState().optimizer().execute(plan)))


def _lines(plan: Any) -> Iterator[str]:
    for each in members(plan.children()):
        yield from _lines(each)
    line = _LINES.get(plan.nodeName())
    if line is not None and plan.isStreaming():
        yield from line(plan)


def _aggregation(plan: Any) -> Iterator[str]:
    groups = ", ".join(_type(each) for each in members(plan.groupingExpressions()))
    results = [part for each in members(plan.aggregateExpressions()) for part in _aggregates(each)]
    yield f"aggregation by ({groups}) of ({', '.join(map(_buffer, results))})"


def _join(plan: Any) -> Iterator[str]:
    sides = list(members(plan.children()))
    if all(each.isStreaming() for each in sides):
        left, right = (", ".join(_columns(each.output())) for each in sides)
        yield f"join of ({left}) with ({right})"


def _deduplication(plan: Any) -> Iterator[str]:
    yield f"keys ({', '.join(_columns(plan.keys()))})"


def _groups_of_pandas(plan: Any) -> Iterator[str]:
    groups = ", ".join(_columns(plan.groupingAttributes()))
    yield f"state {plan.stateType().catalogString()} by ({groups})"


_LINES: Final[dict[str, Callable[[Any], Iterator[str]]]] = {
    "Aggregate": _aggregation,
    "Join": _join,
    "Deduplicate": _deduplication,
    "DeduplicateWithinWatermark": _deduplication,
    "FlatMapGroupsInPandasWithState": _groups_of_pandas,
}


def _aggregates(expression: Any) -> Iterator[Any]:
    for each in within(expression):
        if kind_of(each) == "AggregateExpression":
            yield each.aggregateFunction()


def _buffer(function: Any) -> str:
    """What is kept, and what it becomes: some functions keep bytes, whatever they collect."""
    types = [each.dataType().catalogString() for each in function.aggBufferSchema().fields()]
    runs = ((kind, len(list(run))) for kind, run in groupby(types))
    kept = " ".join(kind if count == 1 else f"{count}*{kind}" for kind, count in runs)
    return f"{function.prettyName()} {_type(function)} from {kept}"


def _columns(attributes: Any) -> Iterator[str]:
    for each in members(attributes):
        yield f"{each.name()} {_type(each)}"


def _type(expression: Any) -> str:
    return str(expression.dataType().catalogString())
