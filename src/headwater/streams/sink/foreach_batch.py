"""The sink for output modes that Spark does not give to Python's sinks: update, through `foreachBatch`."""

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame


def into_topic(options: Mapping[str, str]) -> Callable[[DataFrame, int], None]:
    """Return what `writeStream.foreachBatch` calls: the sink with these options, exactly once as ever.

    An atomic sink also needs `checkpointLocation` or `stagingDirectory` among the options.
    """

    def write(rows: DataFrame, batch_id: int) -> None:
        writing = rows.write.format("headwater").options(**options).option("batchId", str(batch_id))
        writing.mode("append").save()

    return write
