"""The columns that a query groups by: the key of a materialized view that names none."""

from collections.abc import Sequence
from typing import Any, Final

from pyspark.sql import DataFrame

from headwater.streams.run.logical_plan import analyzed, kind_of, members

_TRANSPARENT: Final = ("Project", "Filter", "SubqueryAlias", "EventTimeWatermark", "View")
"""What may stand above an aggregation without changing what a row is about."""
_WINDOWS: Final = ("spark.timeWindow", "spark.sessionWindow")


def grouping_columns(frame: DataFrame) -> tuple[str, ...] | None:
    """Return the grouping columns of the outermost aggregation; None if the result lacks one.

    There are none if all rows are aggregated into one. What the query computes from a grouping column does
    not stand for it, whatever its name: it may be the same for two groups. The start of a window does.
    """
    above, plan = _down_to_aggregation(frame)
    if plan.nodeName() == "Deduplicate":
        grouped = list(members(plan.keys()))
    elif plan.nodeName() == "Aggregate":
        results = list(members(plan.aggregateExpressions()))
        grouped = [_shown(each, results) for each in members(plan.groupingExpressions())]
    else:
        return None
    for each in reversed(above):
        if each.nodeName() == "Project":
            results = list(members(each.projectList()))
            grouped = [_shown(column, results) for column in grouped]
    names = tuple(str(each.name()) for each in grouped if each is not None)
    return names if len(names) == len(grouped) else None


def is_filtered_after(frame: DataFrame) -> bool:
    """Whether rows are left out after the outermost aggregation: a stream does not take them back."""
    above, plan = _down_to_aggregation(frame)
    return plan.nodeName() == "Aggregate" and any(each.nodeName() == "Filter" for each in above)


def _down_to_aggregation(frame: DataFrame) -> tuple[list[Any], Any]:
    """What stands above the outermost aggregation, if there is one, and where that ends."""
    plan: Any = analyzed(frame)
    above = []
    while plan.nodeName() in _TRANSPARENT:
        above.append(plan)
        plan = plan.children().apply(0)
    return above, plan


def _shown(grouping: Any, results: Sequence[Any]) -> Any:
    """The column that stands for a grouping: `window(at, ...) AS minute`, or its start; None if none."""
    for stands_for in (_is_it, _is_its_start):
        for each in results:
            shown = each.child() if kind_of(each) == "Alias" else each
            if grouping is not None and stands_for(shown, grouping):
                return each.toAttribute()
    return None


def _is_it(shown: Any, grouping: Any) -> bool:
    return bool(shown.semanticEquals(grouping))


def _is_its_start(shown: Any, grouping: Any) -> bool:
    is_start = kind_of(shown) == "GetStructField" and str(shown.extractFieldName()) == "start"
    if not is_start or not _is_it(shown.child(), grouping):
        return False
    of_column = shown.child().metadata()
    return any(of_column.contains(each) for each in _WINDOWS)
