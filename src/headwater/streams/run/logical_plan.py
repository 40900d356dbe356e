"""Spark's plan of a query, as Spark has analyzed it: its parts, and what they are made of."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame


def analyzed(frame: DataFrame) -> Any:
    return frame._jdf.queryExecution().analyzed()  # noqa: SLF001


def parts(plan: Any) -> Iterator[Any]:
    """All operators from the outermost on, those of subqueries as well."""
    yield plan
    for each in (*members(plan.children()), *members(plan.subqueries())):
        yield from parts(each)


def within(expression: Any) -> Iterator[Any]:
    """An expression and all that it is made of."""
    yield expression
    for each in members(expression.children()):
        yield from within(each)


def members(sequence: Any) -> Iterator[Any]:
    for place in range(sequence.length()):
        yield sequence.apply(place)


def kind_of(part: Any) -> str:
    return str(part.getClass().getSimpleName())
