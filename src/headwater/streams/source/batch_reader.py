"""`spark.read.format("headwater")`: a range of topics as a table, planned once."""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from headwater.bulk.ranges import OffsetRange
from headwater.client.address import refuse_if_unreachable
from headwater.errors import InvalidRequest
from headwater.streams.source.options import SourceOptions
from headwater.streams.source.plan import Plan, tasks
from headwater.streams.source.reading import Task, read_task
from headwater.streams.source.rows import rows_of
from headwater.streams.source.short_circuit import data_directory


class BatchReader(DataSourceReader):
    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        rows_of(options, schema)  # an unfit schema is an error now, not in the tasks

    def partitions(self) -> Sequence[InputPartition]:
        refuse_if_unreachable(self._options.log.address)
        with self._options.log.cluster() as cluster:
            plan = Plan(self._options, cluster)
            starts, ends = plan.start(), plan.end()
            directory = data_directory(cluster)
        for partition, start in starts.items():
            if start > ends[partition]:
                raise InvalidRequest(
                    f"{partition} would be read from {start} to {ends[partition]}: it ends before"
                )
        ranges = [
            OffsetRange(each.topic, each.partition, start, ends[each])
            for each, start in starts.items()
        ]
        return [Task(each, directory) for each in tasks(ranges, self._options.pace)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, Task):
            return iter(())  # Spark's stand-in where there is nothing to read
        return read_task(partition, self._options, rows_of(self._options, self._schema))
