"""The columns that a query groups by: the key of a materialized view that names none."""

from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame

_TRANSPARENT: Final = ("Project", "Filter", "SubqueryAlias", "EventTimeWatermark", "View")
"""What may stand above an aggregation without changing what a row is about."""


def grouping_columns(frame: DataFrame) -> tuple[str, ...]:
    """Return the grouping columns of the outermost aggregation, if the result holds them all."""
    plan: Any = frame._jdf.queryExecution().analyzed()  # noqa: SLF001
    while plan.nodeName() in _TRANSPARENT:
        plan = plan.children().apply(0)
    if plan.nodeName() == "Deduplicate":
        names = _names(plan.keys())
    elif plan.nodeName() == "Aggregate":
        names = _names(plan.groupingExpressions())
    else:
        return ()
    return names if set(names) <= set(frame.columns) else ()


def _names(expressions: Any) -> tuple[str, ...]:
    return tuple(_name(expressions.apply(place)) for place in range(expressions.length()))


def _name(expression: Any) -> str:
    """An expression without a name stands for itself: its text is the name of no column."""
    try:
        return str(expression.name())
    except Py4JError:
        return str(expression.sql())
