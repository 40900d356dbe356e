"""`format("headwater-changelog")`: what the static side of a join reads, by way of a pipeline."""

from pathlib import Path
from typing import Final

from pyspark.sql.datasource import DataSource, DataSourceReader
from pyspark.sql.types import StructType

from headwater.errors import InvalidRequest
from headwater.streams.changelog.pins import Pins
from headwater.streams.changelog.reader import ChangelogReader
from headwater.streams.changelog.snapshots import Snapshots
from headwater.streams.source.options import SourceOptions
from headwater.streams.source.rows import schema_of

CHECKPOINT: Final = "checkpoint"
FOLDER: Final = "folder"


class ChangelogDataSource(DataSource):
    """One topic; `checkpoint` is the query's, `folder` a place for pins and snapshots beside it."""

    @classmethod
    def name(cls) -> str:
        return "headwater-changelog"

    def schema(self) -> str:
        return schema_of(self._source_options())

    def reader(self, schema: StructType) -> DataSourceReader:
        folder = Path(self.options[FOLDER])
        pins = Pins(folder / "pins", Path(self.options[CHECKPOINT]))
        return ChangelogReader(self._source_options(), schema, pins, Snapshots(folder / "rows"))

    def _source_options(self) -> SourceOptions:
        given = {
            name: value for name, value in self.options.items() if name not in (CHECKPOINT, FOLDER)
        }
        found = SourceOptions.of(given, is_stream=False)
        if len(found.subscription.topics) != 1:
            raise InvalidRequest("a changelog is one topic", hint='set the option "subscribe"')
        return found
