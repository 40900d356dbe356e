"""The sink for output modes that Spark does not give to Python's sinks: update, through `foreachBatch`."""

from collections.abc import Callable, Mapping
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame

from headwater.streams.sink.writers import JOB_GROUP

INTERRUPTIONS: Final = (
    "java.lang.InterruptedException",
    "java.io.InterruptedIOException",
    "java.nio.channels.ClosedByInterruptException",
)
CANCELLED: Final = "cancelled part of cancelled job group"


class Interrupted(Exception):
    """The query was stopped while a batch was written, in the words by which Spark recognises it."""

    def __init__(self) -> None:
        super().__init__(
            f"py4j.protocol.Py4JJavaError: An error occurred while calling save: {INTERRUPTIONS[0]}"
        )


def into_topic(options: Mapping[str, str]) -> Callable[[DataFrame, int], None]:
    """Return what `writeStream.foreachBatch` calls: the sink with these options, exactly once as ever.

    An atomic sink also needs `checkpointLocation` or `stagingDirectory` among the options.
    """

    def write(rows: DataFrame, batch_id: int) -> None:
        run = rows.sparkSession.sparkContext.getLocalProperty(JOB_GROUP)
        writing = rows.write.format("headwater").options(**options)
        writing = writing.option("batchId", str(batch_id)).option("runId", run or "")
        try:
            writing.mode("append").save()
        except Py4JJavaError as error:
            # Spark looks for an interruption by a pattern that overflows its stack on a long text.
            if any(each in str(error) for each in (*INTERRUPTIONS, CANCELLED)):
                raise Interrupted from None
            raise

    return write
