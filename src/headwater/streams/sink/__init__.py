"""Which sink writes: for a stream or a batch job, each task for itself or a whole batch at once."""

from collections.abc import Mapping

from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter
from pyspark.sql.types import StructType

from headwater.streams.sink.atomic import AtomicStreamSink
from headwater.streams.sink.each_task import BatchSink, StreamSink
from headwater.streams.sink.markers import create_markers_topic
from headwater.streams.sink.options import SinkOptions


def stream_sink(options: Mapping[str, str], schema: StructType) -> DataSourceStreamArrowWriter:
    chosen = SinkOptions.of(options, schema)
    create_markers_topic(chosen.kafka)
    return AtomicStreamSink(chosen) if chosen.atomic else StreamSink(chosen)


def batch_sink(options: Mapping[str, str], schema: StructType) -> DataSourceArrowWriter:
    chosen = SinkOptions.of(options, schema)
    create_markers_topic(chosen.kafka)
    return BatchSink(chosen)
