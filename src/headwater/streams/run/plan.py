"""From a flow to a query that Spark will take: planned, checked, not yet started."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from headwater.errors import InvalidRequest
from headwater.streams.datasets import (
    Changelog,
    Dataset,
    Flow,
    MaterializedView,
    Table,
    Topic,
    View,
)
from headwater.streams.graph import Graph
from headwater.streams.options import Options
from headwater.streams.run.checkpoints import Checkpoint
from headwater.streams.run.definition import definition_of
from headwater.streams.run.failures import in_one_sentence, message_of
from headwater.streams.run.inputs import Inputs
from headwater.streams.run.kept_or_anew import computed
from headwater.streams.run.records import (
    refuse_twins,
    refuse_unfit,
    to_records,
    written,
)
from headwater.streams.run.row_order import moved_by
from headwater.streams.run.schemas import refuse_unlike
from headwater.streams.run.settings import in_force, in_own_session
from headwater.streams.run.signature import ANEW, Signature, state_of
from headwater.streams.run.state_keys import state_keys_of
from headwater.streams.run.state_types import state_types_of
from headwater.streams.run.stream_check import OutputMode, refusal_of
from headwater.streams.run.surroundings import Surroundings
from headwater.streams.run.view_key import ROW_KEY, with_key
from headwater.streams.source.options import KNOWN


@dataclass(frozen=True, slots=True)
class Planned:
    """One query of a pipeline."""

    pipeline: str
    flow: Flow
    output: Table | MaterializedView
    schema: StructType
    """The columns of the result, as they will be written."""
    records: DataFrame
    output_mode: Literal["append", "update", "anew"]
    """How Spark gives out the rows of a stream; "anew" if the query is none."""
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
    def schema_of_body(self) -> StructType:
        """The same without what is added to it."""
        added = () if self.output.key != (ROW_KEY,) else self.output.key
        return StructType([each for each in self.schema.fields if each.name not in added])

    @property
    def is_streaming(self) -> bool:
        return self.records.isStreaming


def plan_all(graph: Graph, spark: SparkSession, where: Surroundings) -> list[Planned]:
    """Plan every query of a pipeline, and check what only all of them together show."""
    planned = [plan(graph, flow, spark, where) for flow in graph.queries]
    _plan_unread_views(graph, spark, where)
    for output in graph.outputs:
        given = [
            (each.flow, each.schema_of_body) for each in planned if each.output.name == output.name
        ]
        refuse_unlike(output, given)
    # Once more, now that it is known what bodies read by name.
    graph.in_order([replace(each.flow, inputs=tuple(each.reads)) for each in planned])
    return planned


def _plan_unread_views(graph: Graph, spark: SparkSession, where: Surroundings) -> None:
    """All others were planned with the queries that read them."""
    read = {needed for needed, _ in graph.edges()}
    for flow in graph.flows:
        if isinstance(graph.datasets[flow.target], View) and flow.target not in read:
            checkpoint = where.checkpoints.of(graph.name, flow.name, 1)
            with in_force(flow, spark):
                Inputs(graph, spark, where, checkpoint).of_another(flow)


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
    inputs, result = computed(graph, flow, output, spark, where, checkpoint)
    refuse_twins(result.columns, output)
    before = checkpoint.signature
    output, rows = with_key(output, result, before.key if before else None)
    may_move = isinstance(output, MaterializedView) and result.isStreaming
    moved = moved_by(result, output.key) if may_move and output.key != (ROW_KEY,) else None
    result = rows
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
    if mode != ANEW and refusal_of(spark, records, mode) is not None:
        raise _bad_rule(spark, result, output, mode)
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


def _output_mode(
    spark: SparkSession, frame: DataFrame, flow: Flow, output: Table | MaterializedView
) -> OutputMode | Literal["anew"]:
    """A view takes each change of a row at once, where Spark can give it; a table takes final rows."""
    if not frame.isStreaming:
        _refuse_unrefreshable(flow, output)
        return ANEW
    wanted: tuple[OutputMode, ...] = (
        (output.output_mode,)
        if output.output_mode
        else ("update", "append")
        if isinstance(output, MaterializedView)
        else ("append",)
    )
    refusals: list[str] = []
    for mode in wanted:
        refusal = refusal_of(spark, frame, mode)
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


def _bad_rule(
    spark: SparkSession, result: DataFrame, output: Table | MaterializedView, mode: OutputMode
) -> InvalidRequest:
    """Spark takes the result as a stream, but not with its rules; this says which one is to blame."""
    for rule in output.expectations:
        records = to_records(result, replace(output, expectations=(rule,)))
        refusal = refusal_of(spark, records, mode)
        if refusal is not None:
            return InvalidRequest(
                f"{output.location}: the rule {rule.name!r} of {output.name!r} "
                f"cannot run on a stream: {_in_words([refusal])}",
                hint="a rule is about one row at a time",
            )
    return InvalidRequest(f"{output.location}: the rules of {output.name!r} cannot run on a stream")


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


def _in_words(refusals: Sequence[str]) -> str:
    """The one that has nothing to do with the mode, if there is one: it would stand in any."""
    last = refusals[-1]
    found = next((each for each in refusals if not _is_of_the_mode(each)), last)
    return message_of(found.strip().partition(";")[0].partition("\n")[0])


def _is_of_the_mode(refusal: str) -> bool:
    return "output mode" in refusal.lower()
