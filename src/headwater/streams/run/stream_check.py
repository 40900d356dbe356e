"""What Spark has against a plan as a stream, said before it is started."""

from typing import Any, Literal

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from headwater.streams.run.logical_plan import analyzed, kind_of, members, parts, within

OutputMode = Literal["append", "update"]


def refusal_of(spark: SparkSession, frame: DataFrame, mode: OutputMode) -> str | None:
    """What Spark has against this plan in this mode, in its words."""
    jvm = spark._jvm  # noqa: SLF001
    assert jvm is not None
    plan = analyzed(frame)
    if any(_aggregates_by_pandas(each) for each in parts(plan)):
        return "Spark aggregates a stream by functions of its own, not by a pandas UDF"
    modes = jvm.org.apache.spark.sql.streaming.OutputMode
    chosen = modes.Update() if mode == "update" else modes.Append()
    try:
        checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
        checker.checkForStreaming(plan, chosen)
    except AnalysisException as error:
        return str(error.getMessage())
    return None


def _aggregates_by_pandas(plan: Any) -> bool:
    """Spark itself finds out once such a query runs."""
    if plan.nodeName() != "Aggregate" or not plan.isStreaming():
        return False
    results = members(plan.aggregateExpressions())
    return any(kind_of(part) == "PythonUDAF" for each in results for part in within(each))
