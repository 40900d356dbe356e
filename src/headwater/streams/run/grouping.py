"""The columns that a query groups by: the key of a materialized view that names none."""

from collections.abc import Iterator
from typing import Any, Final

from pyspark.sql import DataFrame

_TRANSPARENT: Final = ("Project", "Filter", "SubqueryAlias", "EventTimeWatermark", "View")
"""What may stand above an aggregation without changing what a row is about."""


def grouping_columns(frame: DataFrame) -> tuple[str, ...]:
    """Return the grouping columns of the outermost aggregation, if the result holds them all."""
    plan: Any = frame._jdf.queryExecution().analyzed()  # noqa: SLF001
    while plan.nodeName() in _TRANSPARENT:
        plan = plan.children().apply(0)
    if plan.nodeName() == "Deduplicate":
        names = [str(each.name()) for each in _each(plan.keys())]
    elif plan.nodeName() == "Aggregate":
        results = list(_each(plan.aggregateExpressions()))
        names = [_result_of(each, results) for each in _each(plan.groupingExpressions())]
    else:
        return ()
    return tuple(names) if set(names) <= set(frame.columns) else ()


def _result_of(grouping: Any, results: list[Any]) -> str:
    """The column that shows what is grouped by: `window(at, ...) AS minute` is `minute`."""
    for each in results:
        shown = each.child() if each.getClass().getSimpleName() == "Alias" else each
        if shown.semanticEquals(grouping):
            return str(each.name())
    return ""


def _each(expressions: Any) -> Iterator[Any]:
    for place in range(expressions.length()):
        yield expressions.apply(place)
