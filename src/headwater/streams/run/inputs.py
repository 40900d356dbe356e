"""Datasets as DataFrames: what the body of a flow is called with."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from headwater.errors import HeadwaterError, InvalidRequest, NotSupported
from headwater.streams.datasets import (
    Changelog,
    Dataset,
    Flow,
    MaterializedView,
    Table,
    Topic,
    View,
)
from headwater.streams.graph import Graph, circle
from headwater.streams.locations import Location, of_error
from headwater.streams.options import Options
from headwater.streams.pipeline import SPARK
from headwater.streams.planning import planning
from headwater.streams.run.checkpoints import Checkpoint
from headwater.streams.run.failures import in_one_sentence
from headwater.streams.run.records import flatten_windows, written
from headwater.streams.run.schemas import as_read
from headwater.streams.run.surroundings import Surroundings
from headwater.streams.source.options import KNOWN, MARK
from headwater.streams.source.rows import refuse_unreadable

FORMAT: Final = "headwater"
CHANGELOG_FORMAT: Final = "headwater-changelog"
WHOLE_FORMAT: Final = "headwater-whole"
_TELL_OF_TABLE: Final = {
    "TABLE_OR_VIEW_NOT_FOUND": "relationName",
    "REQUIRES_SINGLE_PART_NAMESPACE": "identifier",
}
"""Spark's errors for a table that is not there, and the parameter that names it."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """What planning one query finds out about the others that it builds on."""

    opening: list[str] = field(default_factory=list)
    """The datasets on the way from the query to the one that is looked at."""
    schemas: dict[str, str] = field(default_factory=dict)


class Inputs:
    """The frames of one query; made anew for each, since what is read is pinned by its checkpoint."""

    def __init__(
        self,
        graph: Graph,
        spark: SparkSession,
        where: Surroundings,
        checkpoint: Checkpoint,
        upstream: Upstream | None = None,
        *,
        as_wholes: bool = False,
    ) -> None:
        self._graph = graph
        self._spark = spark
        self._where = where
        self._checkpoint = checkpoint
        self._as_wholes = as_wholes
        """Whether topics are read as they are at a refresh, and not as streams."""
        self._frames: dict[str, DataFrame] = {}
        self._upstream = upstream or Upstream()
        self._named: set[str] = set()
        """Datasets that a body may ask for by name at the moment."""
        self.topics: dict[str, str] = {}
        """The topic of each dataset that is read, as far as was asked for."""

    @property
    def reads_a_watermark(self) -> bool:
        """Whether a topic that was read is declared with one."""
        read = [self._graph.datasets[name] for name in self.topics]
        return any(isinstance(each, Topic) and each.watermark is not None for each in read)

    def result(self, flow: Flow) -> DataFrame:
        """What the body makes of its inputs."""
        try:
            return self._result(flow)
        finally:
            self._take_names_back()
            self._named.clear()

    def _result(self, flow: Flow) -> DataFrame:
        while True:
            try:
                return self._call(flow)
            except AnalysisException as error:
                missing = self._missing_table(error, flow)
                if missing is None:
                    raise self._cannot_plan(flow, error) from error
                # The body asked by name (spark.readStream.table): give it the name, call it again.
                self._take_names_back()
                self._frame(missing, flow)
                self._named.add(missing)
                for name in self._named:
                    self._frames[name].createOrReplaceTempView(name)
            except HeadwaterError:
                raise
            except SystemExit as error:
                raise InvalidRequest(
                    f"{_place(error, flow)}: {flow.name!r} cannot be planned: "
                    "it ends the program that plans it",
                    hint="end the body with: return <DataFrame>",
                ) from error
            except Exception as error:  # a body may raise anything
                raise self._cannot_plan(flow, error) from error

    def _take_names_back(self) -> None:
        """The session is shared: another query means its own inputs by the same names."""
        for name in self._named:
            self._spark.catalog.dropTempView(name)

    def _frame(self, name: str, flow: Flow) -> DataFrame:
        opening = self._upstream.opening
        if name in opening:
            raise circle([*opening[opening.index(name) :], name], flow.location)
        if name not in self._frames:
            opening.append(name)
            try:
                self._frames[name] = self._open(self._graph.datasets[name])
            finally:
                opening.pop()
        return self._frames[name]

    def _call(self, flow: Flow) -> DataFrame:
        arguments: dict[str, object] = {name: self._frame(name, flow) for name in flow.inputs}
        if SPARK in inspect.signature(flow.body).parameters:
            arguments[SPARK] = self._spark
        with planning(self._spark, flow.name):
            found = flow.body(**arguments)
        if not isinstance(found, DataFrame):
            raise InvalidRequest(
                f"{flow.location}: {flow.name!r} returns {type(found).__name__}, not a DataFrame",
                hint="end the body with: return <DataFrame>",
            )
        return found

    def _open(self, dataset: Dataset) -> DataFrame:
        if isinstance(dataset, View):
            return self._result(self._graph.flow_of_view(dataset.name))
        try:
            frame = self._read(dataset)
            if not (isinstance(dataset, Topic) and dataset.schema is None):
                # Or each task would, again and again.
                refuse_unreadable(frame.schema, _of_record(dataset))
        except PySparkException as error:
            raise InvalidRequest(_cannot_read(dataset, self._reason(error))) from error
        except NotSupported as error:
            raise InvalidRequest(_cannot_read(dataset, error.what), error.hint) from error
        return frame

    def _read(self, dataset: Topic | Changelog | Table | MaterializedView) -> DataFrame:
        if isinstance(dataset, Topic):
            return self._stream(dataset)
        if isinstance(dataset, Changelog):
            frame = self._latest(dataset.name, dataset.topic, dataset.schema, dataset.options)
            _refuse_without_key(dataset, frame.columns)
            return frame
        schema = dataset.schema or self._schema_of(dataset)
        if isinstance(dataset, MaterializedView):
            return self._latest(dataset.name, dataset.topic, schema, {})
        return self._stream(Topic(dataset.name, dataset.topic, dataset.location, schema))

    def _stream(self, topic: Topic) -> DataFrame:
        self.topics[topic.name] = topic.topic
        options = {
            **self._where.options(),
            "subscribe": topic.topic,
            "startingOffsets": "earliest",
            "queryName": self._checkpoint.query,
            **topic.options,
        }
        if topic.schema is not None:
            options |= {"valueSchema": topic.schema, "valueFormat": "json"}
        if self._as_wholes:
            folder = str(self._checkpoint.tables / topic.name)
            whole = self._spark.read.format(WHOLE_FORMAT).option("folder", folder)
            frame = whole.options(**options).load()
        else:
            frame = self._spark.readStream.format(FORMAT).options(**options).load()
        if topic.event_time is None or topic.watermark is None:
            return frame
        if topic.event_time not in frame.columns:
            raise InvalidRequest(
                f"{topic.location}: topic {topic.topic!r} has no column {topic.event_time!r}",
                hint=f"its columns are: {', '.join(frame.columns)}",
            )
        return frame.withWatermark(topic.event_time, topic.watermark)

    def _latest(self, name: str, topic: str, schema: str, options: Mapping[str, str]) -> DataFrame:
        """The last row of each key, the same again if a batch is repeated: see `changelog/`."""
        self.topics[name] = topic
        return (
            self._spark.read.format(CHANGELOG_FORMAT)
            .options(**self._where.options())
            .option("subscribe", topic)
            .option("valueSchema", schema)
            .option("valueFormat", "json")
            .option("queryName", self._checkpoint.query)
            .option("checkpoint", str(self._checkpoint.spark))
            .option("folder", str(self._checkpoint.tables / name))
            .options(**options)
            .load()
        )

    def _schema_of(self, dataset: Table | MaterializedView) -> str:
        """What its flows give; that they read something does not mean that this query does."""
        schemas = self._upstream.schemas
        if dataset.name not in schemas:
            flows = [each for each in self._graph.flows if each.target == dataset.name]
            results = [flatten_windows(self.of_another(each)).schema for each in flows]
            schemas[dataset.name] = as_read(written(each) for each in results)
        return schemas[dataset.name]

    def of_another(self, flow: Flow) -> DataFrame:
        """The result of a query that this one is not; as a stream, if it can be one."""
        world = (self._graph, self._spark, self._where, self._checkpoint, self._upstream)
        try:
            return Inputs(*world).result(flow)
        except InvalidRequest as refusal:
            try:
                return Inputs(*world, as_wholes=True).result(flow)
            except InvalidRequest:
                raise refusal from None

    def _missing_table(self, error: AnalysisException, flow: Flow) -> str | None:
        told_by = _TELL_OF_TABLE.get(error.getCondition() or "")
        if told_by is None:
            return None
        relation = (error.getMessageParameters() or {}).get(told_by, "").replace("`", "")
        schema, _, name = relation.rpartition(".")
        if name not in self._graph.datasets:
            return None
        if schema:
            raise InvalidRequest(
                f"{_place(error, flow)}: {flow.name!r} reads {relation!r}, "
                "but what a pipeline makes has no catalog and no schema here",
                hint=f"read it as {name!r}",
            )
        return None if name in self._named else name

    def _cannot_plan(self, flow: Flow, error: Exception) -> InvalidRequest:
        where = _place(error, flow)
        kind = "" if isinstance(error, AnalysisException) else f"{type(error).__name__}: "
        return InvalidRequest(
            f"{where}: {flow.name!r} cannot be planned: {kind}{self._reason(error)}"
        )

    def _reason(self, error: Exception) -> str:
        return in_one_sentence(error, self._checkpoint.folder)


def _place(error: BaseException, flow: Flow) -> Location:
    """The line of the body that led to the error."""
    return of_error(error, flow.body) or flow.location


def _refuse_without_key(changelog: Changelog, columns: list[str]) -> None:
    for each in changelog.key:
        if each not in columns:
            raise InvalidRequest(
                f"{changelog.location}: changelog {changelog.topic!r} has no column {each!r} "
                "for its key",
                hint=f"its columns are: {', '.join(columns)}",
            )


def _of_record(dataset: Dataset) -> dict[str, str]:
    """The columns that a dataset was declared to have from its records; all others are of the values."""
    options = dataset.options if isinstance(dataset, Topic | Changelog) else {}
    names = Options({name: str(value) for name, value in options.items()}, KNOWN).names("metadata")
    return {MARK + each: each for each in names}


def _cannot_read(dataset: Dataset, reason: str) -> str:
    return f"{dataset.location}: {dataset.name!r} cannot be read: {reason}"
