"""What the keys of state are computed from: a window of five minutes is a column `window` like one of one.

The operator that keeps the state shows only the names of columns that were computed below it. Here each is
followed down to the columns of the sources.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

from pyspark.sql import DataFrame

from headwater.streams.run.logical_plan import analyzed, members

_COLUMN: Final = re.compile(
    r"(?P<name>window_time\([^()]*\)|[^\s,()\[\]]*)#(?P<number>\d+)L?(?:-T\d+ms)?"
)
"""As Spark prints them: its number of the column, and the delay of a watermark."""
_VARIABLE: Final = re.compile(r"(?<=lambda )(\w+?)_\d+")
"""Spark counts the variables of lambdas through the life of a session."""
_LONGEST: Final = 100


def state_keys_of(frame: DataFrame) -> tuple[str, ...]:
    """One line for each operator that keeps state by keys, from the sources on."""
    plan = analyzed(frame)
    return tuple(_lines(plan)) if frame.isStreaming else ()


def _lines(plan: Any) -> Iterator[str]:
    for each in members(plan.children()):
        yield from _lines(each)
    keys = _KEYS.get(plan.nodeName())
    if keys is None or not plan.isStreaming() or _is_join_with_table(plan):
        return
    origins: dict[int, str] = {}
    for each in members(plan.children()):
        _learn(each, origins)
    yield ", ".join(_spelled(str(each.toString()), origins) for each in keys(plan))


def _is_join_with_table(plan: Any) -> bool:
    sides = members(plan.children())
    return plan.nodeName() == "Join" and not all(each.isStreaming() for each in sides)


def _learn(plan: Any, origins: dict[int, str]) -> None:
    """Note what each column that a plan gives, or that is computed in it, is computed from."""
    for each in members(plan.children()):
        _learn(each, origins)
    computed = _COMPUTED.get(plan.nodeName())
    for number, expression in computed(plan) if computed else ():
        origins[number] = _spelled(expression, origins)


def _spelled(expression: str, origins: Mapping[int, str]) -> str:
    def origin(found: re.Match[str]) -> str:
        return origins.get(int(found["number"]), found["name"])

    return _short(_VARIABLE.sub(r"\1", _COLUMN.sub(origin, expression)))


def _short(text: str) -> str:
    """A window is spelled in a thousand letters, and one of windows in ten times as many."""
    return text if len(text) <= _LONGEST else sha256(text.encode()).hexdigest()


def _aliases(expressions: Any) -> Iterator[tuple[int, str]]:
    for each in members(expressions):
        if each.getClass().getSimpleName() == "Alias":
            yield _number(each), str(each.child().toString())


def _expanded(plan: Any) -> Iterator[tuple[int, str]]:
    """A row that falls into several windows is one of each."""
    projections = [list(members(each)) for each in members(plan.projections())]
    for place, column in enumerate(members(plan.output())):
        yield _number(column), " or ".join(str(each[place].toString()) for each in projections)


_COMPUTED: Final[Mapping[str, Callable[[Any], Iterator[tuple[int, str]]]]] = {
    "Project": lambda plan: _aliases(plan.projectList()),
    "Aggregate": lambda plan: _aliases(plan.aggregateExpressions()),
    "Expand": _expanded,
}


def _condition(plan: Any) -> Iterator[Any]:
    condition = plan.condition()
    if condition.isDefined():
        yield condition.get()


_KEYS: Final[Mapping[str, Callable[[Any], Iterator[Any]]]] = {
    "Aggregate": lambda plan: members(plan.groupingExpressions()),
    "Join": _condition,
    "Deduplicate": lambda plan: members(plan.keys()),
    "DeduplicateWithinWatermark": lambda plan: members(plan.keys()),
    "FlatMapGroupsInPandasWithState": lambda plan: members(plan.groupingAttributes()),
    "TransformWithStateInPySpark": lambda plan: members(plan.leftAttributes()),
}


def _number(expression: Any) -> int:
    return int(expression.exprId().id())
