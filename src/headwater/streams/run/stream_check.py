"""What Spark has against a plan as a stream, said before it is started."""

from typing import Literal

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

OutputMode = Literal["append", "update"]


def refusal_of(spark: SparkSession, frame: DataFrame, mode: OutputMode) -> AnalysisException | None:
    """What Spark has against this plan in this mode."""
    jvm = spark._jvm  # noqa: SLF001
    assert jvm is not None
    modes = jvm.org.apache.spark.sql.streaming.OutputMode
    chosen = modes.Update() if mode == "update" else modes.Append()
    plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001
    try:
        checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
        checker.checkForStreaming(plan, chosen)
    except AnalysisException as error:
        return error
    return None
