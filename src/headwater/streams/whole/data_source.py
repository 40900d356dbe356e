"""`format("headwater-whole")`: what a view that is computed anew reads, by way of a pipeline."""

from pathlib import Path
from typing import Final

from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import StructType

from headwater.streams.source.options import SourceOptions
from headwater.streams.source.rows import schema_of
from headwater.streams.whole.reader import WholeReader
from headwater.streams.whole.reads import Reads

FOLDER: Final = "folder"


class WholeDataSource(DataSource):
    """One topic; `folder` is a place beside the query's checkpoint for what it has read."""

    @classmethod
    def name(cls) -> str:
        return "headwater-whole"

    def schema(self) -> str:
        return schema_of(self._source_options())

    def reader(self, schema: StructType) -> DataSourceReader:
        return WholeReader(self._source_options(), schema, Reads(Path(self.options[FOLDER])))

    def _source_options(self) -> SourceOptions:
        given = {name: value for name, value in self.options.items() if name != FOLDER}
        return SourceOptions.of(given, is_stream=False)
