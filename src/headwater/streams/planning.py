"""While a body is planned, what it reads is not read: it gives a query, and runs none.

The result of one that it ran by itself (`count()`, `collect()`) would stay as it was then for a whole run.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, cast

from pyspark import TaskContext
from pyspark.sql import SparkSession

from headwater.errors import InvalidRequest

_PLANNED: Final = "headwater.planned"
"""A property of Spark's jobs: the query that is planned by the thread that began them."""


@contextmanager
def planning(spark: SparkSession, query: str) -> Iterator[None]:
    jobs = spark.sparkContext
    around = jobs.getLocalProperty(_PLANNED)
    jobs.setLocalProperty(_PLANNED, query)
    try:
        yield
    finally:
        jobs.setLocalProperty(_PLANNED, cast("str", around))  # None removes it


def refuse_if_planned() -> None:
    """Called by the tasks that read what a pipeline gives to its bodies."""
    context = TaskContext.get()
    query = context and context.getLocalProperty(_PLANNED)
    if query:
        raise InvalidRequest(
            f"{query!r} runs a query while it is planned, whose result would stay as it is now",
            hint="return one DataFrame for all of it, without count(), collect() and the like",
        )
