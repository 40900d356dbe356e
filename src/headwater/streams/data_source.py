"""`format("headwater")`: what Spark calls to read from and write to topics."""

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
)
from pyspark.sql.types import StructType

from headwater.errors import InvalidRequest
from headwater.streams.sink import batch_sink, stream_sink
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
        return schema_of(SourceOptions.of(self.options, is_stream=True))

    def reader(self, schema: StructType) -> DataSourceReader:
        return BatchReader(SourceOptions.of(self.options, is_stream=False), schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        return StreamReader(SourceOptions.of(self.options, is_stream=True), schema)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        _refuse_overwrite(is_asked=overwrite)
        return batch_sink(self.options, schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: N802
        _refuse_overwrite(is_asked=overwrite)
        return stream_sink(self.options, schema)


def _refuse_overwrite(*, is_asked: bool) -> None:
    if is_asked:
        raise InvalidRequest(
            "a topic cannot be overwritten, only added to",
            hint='use mode("append"), or outputMode "append" for a stream',
        )
