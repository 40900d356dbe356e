"""The sink: rows into topics, exactly once.

Which writer it is: for a stream or a batch job, each task for itself or a whole batch at once.
"""

from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter
from pyspark.sql.types import StructType

from headwater.streams.sink.atomic import AtomicBatchSink, AtomicStreamSink
from headwater.streams.sink.each_task import QUERY_ID, BatchSink, StreamSink
from headwater.streams.sink.markers import create_markers_topic
from headwater.streams.sink.options import SinkOptions


def stream_sink(options: Mapping[str, str], schema: StructType) -> DataSourceStreamArrowWriter:
    chosen = SinkOptions.of(options, schema)
    create_markers_topic(chosen.kafka)
    return AtomicStreamSink(chosen) if chosen.atomic else StreamSink(chosen)


def batch_sink(options: Mapping[str, str], schema: StructType) -> DataSourceArrowWriter:
    chosen = SinkOptions.of(options, schema)
    create_markers_topic(chosen.kafka)
    return AtomicBatchSink(chosen) if chosen.atomic else BatchSink(chosen)


def each_batch(options: Mapping[str, str]) -> Callable[[DataFrame, int], None]:
    """For `foreachBatch`, exactly once: Spark lets no Python sink take part in update mode.

    frame.writeStream.outputMode("update").foreachBatch(each_batch({"topic": "totals"}))
    """
    given = dict(options)

    def write(frame: DataFrame, batch_id: int) -> None:
        query_id = frame.sparkSession.sparkContext.getLocalProperty(QUERY_ID)
        assert query_id is not None
        writer = frame.write.format("headwater").mode("append").options(**given)
        writer.option("queryId", query_id).option("batchId", str(batch_id)).save()

    return write
