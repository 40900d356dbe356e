"""Let Spark know `format("headwater")`."""

from pyspark.sql import SparkSession
from pyspark.sql.datasource import DataSource, DataSourceArrowWriter, DataSourceStreamArrowWriter
from pyspark.sql.types import StructType


class HeadwaterSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "headwater"

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:  # noqa: ARG002
        from headwater.streams.sink import batch_sink  # noqa: PLC0415

        return batch_sink(self.options, schema)

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:  # noqa: N802, ARG002
        from headwater.streams.sink import stream_sink  # noqa: PLC0415

        return stream_sink(self.options, schema)


def register(spark: SparkSession) -> None:
    spark.dataSource.register(HeadwaterSource)
