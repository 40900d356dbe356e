"""From a flow to a query that Spark will take: planned, checked, not yet started."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headwater.errors import InvalidRequest
from headwater.streams.datasets import Changelog, Dataset, Flow, MaterializedView, Table, Topic
from headwater.streams.graph import Graph
from headwater.streams.options import Options
from headwater.streams.run.checkpoints import Checkpoint
from headwater.streams.run.definition import definition_of
from headwater.streams.run.failures import in_one_sentence, message_of
from headwater.streams.run.grouping import grouping_columns
from headwater.streams.run.inputs import Inputs
from headwater.streams.run.records import (
    flatten_windows,
    refuse_twins,
    refuse_unfit,
    to_records,
    written,
)
from headwater.streams.run.row_order import moved_by
from headwater.streams.run.schemas import refuse_unlike
from headwater.streams.run.settings import in_force, in_own_session
from headwater.streams.run.signature import Signature, state_of
from headwater.streams.run.state_keys import state_keys_of
from headwater.streams.run.state_types import state_types_of
from headwater.streams.run.surroundings import Surroundings
from headwater.streams.source.options import KNOWN

OutputMode = Literal["append", "update"]


@dataclass(frozen=True, slots=True)
class Planned:
    """One query of a pipeline."""

    pipeline: str
    flow: Flow
    output: Table | MaterializedView
    schema: StructType
    """The columns of the result, as they will be written."""
    records: DataFrame
    output_mode: OutputMode
    checkpoint: Checkpoint
    signature: Signature
    reads: dict[str, str]
    """Dataset -> topic."""
    must_stay: frozenset[str]
    """Topics of these that may not be deleted and made again."""
    moved_by: str | None = None
    """What may bring an older row of a key behind a newer one of the same batch, in a view."""

    @property
    def name(self) -> str:
        return f"{self.pipeline}.{self.flow.name}"

    @property
    def is_streaming(self) -> bool:
        return self.records.isStreaming


def plan_all(graph: Graph, spark: SparkSession, where: Surroundings) -> list[Planned]:
    """Plan every query of a pipeline, and check what only all of them together show."""
    planned = [plan(graph, flow, spark, where) for flow in graph.queries]
    for output in graph.outputs:
        given = [(each.flow, each.schema) for each in planned if each.output.name == output.name]
        refuse_unlike(output, given)
    # Once more, now that it is known what bodies read by name.
    graph.in_order([replace(each.flow, inputs=tuple(each.reads)) for each in planned])
    return planned


def plan(graph: Graph, flow: Flow, spark: SparkSession, where: Surroundings) -> Planned:
    """Raises `InvalidRequest` with file and line for what Spark or the output would refuse."""
    with in_force(flow, spark):
        try:
            return _plan(graph, flow, spark, where)
        except (
            PySparkException
        ) as error:  # of the optimizer, say: constants that cannot be computed
            raise InvalidRequest(
                f"{flow.location}: {flow.name!r} cannot be planned: "
                f"{in_one_sentence(error, where.state)}"
            ) from error


def _plan(graph: Graph, flow: Flow, spark: SparkSession, where: Surroundings) -> Planned:
    output = graph.datasets[flow.target]
    assert isinstance(output, Table | MaterializedView)
    checkpoint = where.checkpoints.of(graph.name, flow.name, output.version)
    inputs = Inputs(graph, spark, where, checkpoint)
    result = inputs.result(flow)
    refuse_twins(result.columns, output)
    output = _with_key(output, result)
    is_kept_by_key = isinstance(output, MaterializedView) and result.isStreaming
    moved = moved_by(result, output.key) if is_kept_by_key else None
    result = flatten_windows(result)
    refuse_twins(result.columns, output)
    refuse_unfit(result.schema, output)
    try:
        records = to_records(result, output)
    except AnalysisException as error:
        reason = in_one_sentence(error, checkpoint.folder)
        raise InvalidRequest(
            f"{output.location}: a rule of {output.name!r} cannot be planned: {reason}"
        ) from error
    mode = _output_mode(spark, result, flow, output)
    if flow.spark_conf and not records.isStreaming:
        records = in_own_session(records, spark)
    schema = written(result.schema)
    if isinstance(output, MaterializedView):
        definition_of(graph.name, output, schema)
    return Planned(
        pipeline=graph.name,
        flow=flow,
        output=output,
        schema=schema,
        records=records,
        output_mode=mode,
        checkpoint=checkpoint,
        signature=Signature(
            sources=tuple(sorted(inputs.topics.values())),
            state=state_of(result),
            output_mode=mode,
            topic=output.topic,
            key=output.key,
            state_types=state_types_of(result),
            state_keys=state_keys_of(result),
        ),
        reads=dict(inputs.topics),
        must_stay=frozenset(
            topic
            for name, topic in inputs.topics.items()
            if _fails_on_data_loss(graph.datasets[name])
        ),
        moved_by=moved,
    )


def _fails_on_data_loss(dataset: Dataset) -> bool:
    options = dataset.options if isinstance(dataset, Topic | Changelog) else {}
    return Options(options, KNOWN).flag("failOnDataLoss", default=True)


def _with_key(output: Table | MaterializedView, result: DataFrame) -> Table | MaterializedView:
    """A view that names no key has that of its aggregation; one that is no stream may be a set of rows."""
    if output.key or isinstance(output, Table):
        return output
    found = grouping_columns(result)
    if not found and not result.isStreaming:
        found = tuple(result.columns)
    if not found:
        raise InvalidRequest(
            f"{output.location}: the key of {output.name!r} cannot be told from its query",
            hint='name it: key="..." (for pyspark.pipelines: '
            'table_properties={"headwater.key": "..."}); a total of all rows needs a column for it, '
            'such as groupBy(F.lit("all").alias("scope"))',
        )
    return replace(output, key=found)


def _output_mode(
    spark: SparkSession, frame: DataFrame, flow: Flow, output: Table | MaterializedView
) -> OutputMode:
    """A view takes each change of a row at once, where Spark can give it; a table takes final rows."""
    if not frame.isStreaming:
        _refuse_unrefreshable(flow, output)
        return "append"
    wanted: tuple[OutputMode, ...] = (
        (output.output_mode,)
        if output.output_mode
        else ("update", "append")
        if isinstance(output, MaterializedView)
        else ("append",)
    )
    refusals: list[AnalysisException] = []
    for mode in wanted:
        refusal = _refusal(spark, frame, mode)
        if refusal is None:
            return mode
        refusals.append(refusal)
    raise InvalidRequest(
        f"{flow.location}: {flow.name!r} cannot run as a stream: {_in_words(refusals)}",
        hint="a table takes rows that are final: give the topic an event time and a watermark, "
        "or keep the present value of each key with @pipeline.materialized_view"
        if isinstance(output, Table)
        else "",
    )


def _refuse_unrefreshable(flow: Flow, output: Table | MaterializedView) -> None:
    """What is computed anew each time can only be a view, and sets no rows aside."""
    if isinstance(output, Table):
        raise InvalidRequest(
            f"{flow.location}: {flow.name!r} is not a stream, so there is nothing to append",
            hint="keep its result with @pipeline.materialized_view, or read a topic",
        )
    if any(rule.action == "quarantine" for rule in output.expectations):
        raise InvalidRequest(
            f"{output.location}: {output.name!r} is no stream, so its rows cannot go to quarantine",
            hint="use warn, drop or fail",
        )


def _refusal(spark: SparkSession, frame: DataFrame, mode: OutputMode) -> AnalysisException | None:
    """What Spark has against this plan in this mode."""
    jvm = spark._jvm  # noqa: SLF001
    assert jvm is not None
    modes = jvm.org.apache.spark.sql.streaming.OutputMode
    chosen = modes.Update() if mode == "update" else modes.Append()
    plan = frame._jdf.queryExecution().analyzed()  # noqa: SLF001
    try:
        checker = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
        checker.checkForStreaming(plan, chosen)
    except AnalysisException as error:
        return error
    return None


def _in_words(refusals: Sequence[AnalysisException]) -> str:
    """The one that has nothing to do with the mode, if there is one: it would stand in any."""
    last = refusals[-1]
    found = next((each for each in refusals if not _is_of_the_mode(each)), last)
    return message_of(str(found.getMessage()).strip().partition(";")[0].partition("\n")[0])


def _is_of_the_mode(refusal: AnalysisException) -> bool:
    return "output mode" in str(refusal.getMessage()).lower()
