"""`format("headwater")`: what Spark calls to read from and write to topics."""

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)
from pyspark.sql.types import StructType

from headwater.errors import InvalidRequest
from headwater.streams.sink.options import SinkOptions
from headwater.streams.sink.writers import BatchWriter, StreamWriter
from headwater.streams.source.batch_reader import BatchReader
from headwater.streams.source.options import SourceOptions
from headwater.streams.source.rows import schema_of
from headwater.streams.source.stream_reader import StreamReader


class HeadwaterDataSource(DataSource):
    """Topics of our broker or of Apache Kafka; see docs/spark.md for the options."""

    @classmethod
    def name(cls) -> str:
        return "headwater"

    def schema(self) -> str:
        return schema_of(SourceOptions.of(self.options, is_stream=None))

    def reader(self, schema: StructType) -> DataSourceReader:
        return BatchReader(SourceOptions.of(self.options, is_stream=False), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        return StreamReader(SourceOptions.of(self.options, is_stream=True), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        if overwrite:
            raise InvalidRequest("a topic cannot be overwritten", hint='write with mode("append")')
        return BatchWriter(SinkOptions.of(self.options, is_stream=False), schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: ARG002, N802
        return StreamWriter(SinkOptions.of(self.options, is_stream=True), schema)
