"""Whether a materialized view is kept up to date as a stream, or computed anew whenever its inputs change.

A stream is tried first: it costs what is new, not all there is. A view whose author names no key, or asks
for its inputs by name as Spark's own pipelines do, is computed anew where a stream of its rows has no key,
is none that Spark can run, or would come to other rows than Spark has in its table.
"""

from pyspark.sql import DataFrame, SparkSession

from headwater.errors import InvalidRequest
from headwater.streams.datasets import Flow, MaterializedView, Table
from headwater.streams.graph import Graph
from headwater.streams.run.checkpoints import Checkpoint
from headwater.streams.run.grouping import grouping_columns
from headwater.streams.run.inputs import Inputs
from headwater.streams.run.like_a_table import is_like_a_table
from headwater.streams.run.stream_check import refusal_of
from headwater.streams.run.surroundings import Surroundings


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
    if isinstance(output, Table) or (output.key and flow.inputs):
        return streams, streams.result(flow)
    wholes = Inputs(graph, spark, where, checkpoint, as_wholes=True)
    try:
        kept = streams.result(flow)
    except InvalidRequest as refusal:  # Spark has no subqueries of streams, say
        try:
            return wholes, wholes.result(flow)
        except InvalidRequest:
            raise refusal from None
    if not kept.isStreaming or not _is_better_anew(kept, streams, flow, output, spark):
        return streams, kept
    try:
        anew = wholes.result(flow)
    except InvalidRequest:  # it asks for streams: spark.readStream.table(...)
        return streams, kept
    return (streams, kept) if anew.isStreaming else (wholes, anew)


def _is_better_anew(
    kept: DataFrame, streams: Inputs, flow: Flow, output: MaterializedView, spark: SparkSession
) -> bool:
    has_no_key = not output.key and grouping_columns(kept) is None
    if has_no_key or all(refusal_of(spark, kept, mode) for mode in ("update", "append")):
        return True
    # With parameters or a key, the author wants a stream, and knows what one does.
    is_as_spark_has_it = not flow.inputs and not output.key
    return is_as_spark_has_it and not is_like_a_table(
        spark, kept, may_forget=streams.reads_a_watermark
    )
