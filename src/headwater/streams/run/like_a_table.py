"""Whether a stream comes to the rows that Spark has in a table: those of its query over all there is."""

from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from headwater.streams.run.grouping import is_filtered_after
from headwater.streams.run.logical_plan import analyzed, parts

_NEVER_CHANGE: Final = ("LocalRelation", "LogicalRDD", "OneRowRelation", "Range")
_OF_ONE_BATCH: Final = (
    "FlatMapGroupsInPandas",
    "FlatMapGroupsInArrow",
    "FlatMapCoGroupsInPandas",
    "FlatMapCoGroupsInArrow",
)
"""These are given the rows of a group that are in the batch at hand, and no others."""
_WATERMARK: Final = "EventTimeWatermark"


def is_like_a_table(spark: SparkSession, kept: DataFrame, *, may_forget: bool) -> bool:
    """`may_forget` says that late rows are to be left out, as the author of a topic's watermark wants."""
    operators = list(parts(analyzed(kept)))
    names = {str(each.nodeName()) for each in operators}
    return not (
        is_filtered_after(kept)
        or _asks_for_the_time(spark, kept)
        or any(_may_change(each) for each in operators)
        or not names.isdisjoint(_OF_ONE_BATCH)
        or (_WATERMARK in names and not may_forget)
    )


def _asks_for_the_time(spark: SparkSession, kept: DataFrame) -> bool:
    """A stream asks once, when it meets a row."""
    jvm: Any = spark._jvm  # noqa: SLF001
    now = jvm.org.apache.spark.sql.catalyst.trees.TreePattern.CURRENT_LIKE()
    return bool(analyzed(kept).containsPattern(now))


def _may_change(plan: Any) -> bool:
    """Whether a stream meets it: rows that it has met before stay as they were then."""
    is_leaf = plan.children().isEmpty()
    return is_leaf and not plan.isStreaming() and plan.nodeName() not in _NEVER_CHANGE
