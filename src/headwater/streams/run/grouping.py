"""The columns that a query groups by: the key of a materialized view that names none."""

from collections.abc import Iterator
from typing import Any, Final

from pyspark.sql import DataFrame

_TRANSPARENT: Final = ("Project", "Filter", "SubqueryAlias", "EventTimeWatermark", "View")
"""What may stand above an aggregation without changing what a row is about."""


def grouping_columns(frame: DataFrame) -> tuple[str, ...] | None:
    """Return the grouping columns of the outermost aggregation; None if the result lacks one.

    There are none if all rows are aggregated into one.
    """
    plan: Any = frame._jdf.queryExecution().analyzed()  # noqa: SLF001
    while plan.nodeName() in _TRANSPARENT:
        plan = plan.children().apply(0)
    if plan.nodeName() == "Deduplicate":
        names = [str(each.name()) for each in _each(plan.keys())]
    elif plan.nodeName() == "Aggregate":
        results = list(_each(plan.aggregateExpressions()))
        names = [_result_of(each, results) for each in _each(plan.groupingExpressions())]
    else:
        return None
    return tuple(names) if set(names) <= set(frame.columns) else None


def is_filtered_after(frame: DataFrame) -> bool:
    """Whether rows are left out after the outermost aggregation: a stream does not take them back."""
    plan: Any = frame._jdf.queryExecution().analyzed()  # noqa: SLF001
    is_filtered = False
    while plan.nodeName() in _TRANSPARENT:
        is_filtered = is_filtered or plan.nodeName() == "Filter"
        plan = plan.children().apply(0)
    return is_filtered and plan.nodeName() == "Aggregate"


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
