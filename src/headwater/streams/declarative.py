"""Files written for Spark's declarative pipelines (`pyspark.pipelines`), read as a `Pipeline` of ours.

Their decorators hand what they find to a registry; ours turns it into datasets and flows. A materialized
view is kept incrementally where Spark can; its key is `table_properties={"headwater.key": "a,b"}`, or the
columns it is grouped by, or a column of its own (`run/view_key.py`).
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from types import ModuleType
from typing import Final

from pyspark.pipelines.flow import AutoCdcFlow
from pyspark.pipelines.flow import Flow as SparkFlow
from pyspark.pipelines.graph_element_registry import (
    GraphElementRegistry,
    get_active_graph_element_registry,
    graph_element_registration_context,
)
from pyspark.pipelines.output import MaterializedView, Output, StreamingTable, TemporaryView
from pyspark.pipelines.source_code_location import SourceCodeLocation

from headwater.errors import InvalidRequest, NotSupported
from headwater.streams import auto_cdc, datasets
from headwater.streams.datasets import Flow, View
from headwater.streams.ddl import ddl_of
from headwater.streams.locations import Location, of_line
from headwater.streams.pipeline import Pipeline
from headwater.streams.specification import SQL
from headwater.streams.sql_files import elements_of
from headwater.streams.user_files import load

KEY_PROPERTY: Final = "headwater.key"


def collecting(
    pipeline: Pipeline, spark_conf: Mapping[str, str] | None = None
) -> AbstractContextManager[None]:
    """While this is entered, what `pyspark.pipelines` decorates becomes part of `pipeline`."""
    return graph_element_registration_context(_Registry(pipeline, spark_conf or {}))


def read(file: Path) -> ModuleType | None:
    """Read a file of Python or SQL; what it declares is collected."""
    if file.suffix != SQL:
        return _load(file)
    try:
        text = file.read_text()
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{file} is not text in UTF-8") from error
    get_active_graph_element_registry().register_sql(text, file)
    return None


def _load(file: Path) -> ModuleType:
    try:
        return load(file)
    except InvalidRequest as error:
        if auto_cdc.is_asked_for_in(error.__cause__):
            raise auto_cdc.refusal(error.what.partition(": ")[0]) from error
        raise


class _Registry(GraphElementRegistry):
    def __init__(self, pipeline: Pipeline, spark_conf: Mapping[str, str]) -> None:
        self._pipeline = pipeline
        self._spark_conf = spark_conf

    def register_output(self, output: Output) -> None:
        where = _location(output.source_code_location)
        name = _last(output.name)
        if isinstance(output, TemporaryView):
            self._pipeline.add(View(name, where, output.comment or ""))
            return
        if not isinstance(output, MaterializedView | StreamingTable):
            raise NotSupported(
                f"{where}: a sink of the format {getattr(output, 'format', '?')!r} is not supported",
                hint="write to a table: its topic is the place for other systems to read",
            )
        is_view = isinstance(output, MaterializedView)
        kind = datasets.MaterializedView if is_view else datasets.Table
        key = output.table_properties.get(KEY_PROPERTY, "").split(",")
        self._pipeline.add(
            kind(
                name=name,
                topic=self._pipeline.topic_of(name, 1),
                location=where,
                key=tuple(each.strip() for each in key if each.strip()),
                comment=output.comment or "",
                schema=ddl_of(output.schema, where),
            )
        )

    def register_flow(self, flow: SparkFlow) -> None:
        where = _location(flow.source_code_location)
        name, target = _last(flow.name), _last(flow.target)
        spark_conf = {**self._spark_conf, **flow.spark_conf}
        self._pipeline.add_flow(Flow(name, target, flow.func, (), where, spark_conf))

    def register_auto_cdc_flow(self, flow: AutoCdcFlow) -> None:
        raise auto_cdc.refusal(_location(flow.source_code_location))

    def register_sql(self, sql_text: str, file_path: Path) -> None:
        for element in elements_of(sql_text, file_path):
            if isinstance(element, SparkFlow):
                self.register_flow(element)
            else:
                self.register_output(element)


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _location(found: SourceCodeLocation) -> Location:
    return of_line(found.filename, found.line_number or 0)
