"""Whether a materialized view is kept up to date as a stream, or computed anew whenever its inputs change.

A stream is tried first: it costs what is new, not all there is. A view whose author names no key, or asks
for its inputs by name as Spark's own pipelines do, is computed anew where a stream of its rows has no key,
is none that Spark can run, or would come to other rows than Spark has in its table.
"""

from collections.abc import Iterator
from typing import Any, Final

from pyspark.sql import DataFrame, SparkSession

from headwater.errors import InvalidRequest
from headwater.streams.datasets import Flow, MaterializedView, Table
from headwater.streams.graph import Graph
from headwater.streams.run.checkpoints import Checkpoint
from headwater.streams.run.grouping import grouping_columns, is_filtered_after
from headwater.streams.run.inputs import Inputs
from headwater.streams.run.stream_check import refusal_of
from headwater.streams.run.surroundings import Surroundings

_NEVER_CHANGE: Final = ("LocalRelation", "LogicalRDD", "OneRowRelation", "Range")


def computed(
    graph: Graph,
    flow: Flow,
    output: Table | MaterializedView,
    spark: SparkSession,
    where: Surroundings,
    checkpoint: Checkpoint,
) -> tuple[Inputs, DataFrame]:
    """What the body of a flow makes of its inputs, as streams or as they are at each refresh."""
    streams = Inputs(graph, spark, where, checkpoint)
    may_be_anew = isinstance(output, MaterializedView) and not (output.key and flow.inputs)
    if not may_be_anew:
        return streams, streams.result(flow)
    wholes = Inputs(graph, spark, where, checkpoint, as_wholes=True)
    try:
        kept = streams.result(flow)
    except InvalidRequest as refusal:  # Spark has no subqueries of streams, say
        try:
            return wholes, wholes.result(flow)
        except InvalidRequest:
            raise refusal from None
    if not kept.isStreaming or not _is_better_anew(kept, flow, output, spark):
        return streams, kept
    try:
        anew = wholes.result(flow)
    except InvalidRequest:  # it asks for streams: spark.readStream.table(...)
        return streams, kept
    return (streams, kept) if anew.isStreaming else (wholes, anew)


def _is_better_anew(
    kept: DataFrame, flow: Flow, output: Table | MaterializedView, spark: SparkSession
) -> bool:
    has_no_key = not output.key and grouping_columns(kept) is None
    if has_no_key or all(refusal_of(spark, kept, mode) for mode in ("update", "append")):
        return True
    # With parameters or a key, the author wants a stream, and knows what one does.
    is_as_spark_has_it = not flow.inputs and not output.key
    return is_as_spark_has_it and (is_filtered_after(kept) or _reads_what_changes(kept))


def _reads_what_changes(kept: DataFrame) -> bool:
    """Whether a stream meets what may change: rows that it has met before stay as they were then."""
    plan: Any = kept._jdf.queryExecution().analyzed()  # noqa: SLF001
    leaves = [leaf for each in (plan, *_each(plan.subqueriesAll())) for leaf in _leaves(each)]
    return any(not each.isStreaming() and each.nodeName() not in _NEVER_CHANGE for each in leaves)


def _leaves(plan: Any) -> Iterator[Any]:
    return _each(plan.collectLeaves())


def _each(sequence: Any) -> Iterator[Any]:
    for place in range(sequence.length()):
        yield sequence.apply(place)
