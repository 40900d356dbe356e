"""A whole pipeline in a test: fed, run to the end of its input on a real broker and Spark, and read."""

import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import headwater
from headwater.clock import Clock
from headwater.errors import InvalidRequest, NotFound, Unavailable
from headwater.streams.datasets import MaterializedView
from headwater.streams.graph import Graph
from headwater.streams.pipeline import Pipeline
from headwater.streams.source.options import DEAD_SUFFIX
from headwater.testing.broker import Broker
from headwater.testing.pipeline_feed import Feed, feeds_of, inputs_of, send
from headwater.views import DEFINITIONS_TOPIC, View, decode_definition, decode_key
from headwater.views.keys import exact_number
from headwater.views.rows import decode_row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headwater.streams.run.status import Status

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PipelineRun:
    """What a pipeline made of its feed."""

    tables: Mapping[str, list[Row]]
    """Every row of each table, and the present rows of each materialized view.

    Numbers are exact: those that a float cannot hold are of type `Decimal`.
    """
    quarantine: Mapping[str, list[Row]]
    """Rows that broke a rule, by table."""
    dead_letters: Mapping[str, list[bytes | None]]
    """Values that could not be read or, of a view's rows, not be served, by topic."""
    status: "Mapping[str, Status]"
    """The last status of each query."""

    def __getitem__(self, dataset: str) -> list[Row]:
        if dataset not in self.tables:
            raise NotFound(
                f"the pipeline has no table or materialized view {dataset!r}",
                hint=f"it has: {', '.join(self.tables)}",
            )
        return self.tables[dataset]


def run(
    pipeline: Pipeline,
    *,
    feed: Feed | Iterable[Feed],
    clock: Clock | None = None,
    spark: "SparkSession | None" = None,
    partitions: int = 1,
) -> PipelineRun:
    """Run `pipeline` over `feed`, a mapping from topics (or names of datasets) to values.

    Several feeds are run one after another, as they would arrive over time: a watermark moves from one to
    the next. With a `clock`, records have its time, and a generator of feeds can advance it in between.
    A value is an object (sent as JSON) or bytes; `(key, value)` sets the key, and `(key, None)`
    deletes it from a changelog, whose rows are otherwise keyed by its key columns: `({"id": 1}, None)`
    deletes one of those. Returns what came out.
    Raises `InvalidRequest` for a feed that the pipeline does not read, and `Unavailable` with the reason if
    a query fails.
    """
    from headwater.streams.run.runner import Runner  # noqa: PLC0415  pyspark is slow to import
    from headwater.streams.run.surroundings import Surroundings  # noqa: PLC0415
    from headwater.streams.session import open_session  # noqa: PLC0415

    graph = pipeline.graph()
    feeds = feeds_of(graph, feed)
    session = spark or open_session("headwater tests", master="local[2]")
    with (
        Broker(
            clock=clock,
            num_partitions=partitions,
            # Producers and Spark's workers have no other clock than that of this machine.
            topic_defaults={} if clock is None else {"message.timestamp.type": "LogAppendTime"},
        ) as broker,
        headwater.connect(broker.bootstrap) as client,
        tempfile.TemporaryDirectory(prefix="headwater-") as state,
    ):
        for topic in inputs_of(graph):
            broker.create_topic(topic, partitions=partitions)
        runner = Runner(session, client, Surroundings(broker.bootstrap, Path(state)), clock)
        statuses: list[Status] = []
        for each in feeds:
            send(client, graph, each)
            statuses = runner.run_once([graph])
            _refuse_failed(statuses)
        if not statuses:
            raise InvalidRequest("there is nothing to feed the pipeline", hint="feed={...}")
        return _collected(graph, broker, {each.query: each for each in statuses})


def _refuse_failed(statuses: "list[Status]") -> None:
    for each in statuses:
        if each.state == "failed":
            raise Unavailable(f"{each.name} failed at {each.location}: {each.error}")


def _collected(graph: Graph, broker: Broker, statuses: "Mapping[str, Status]") -> PipelineRun:
    names = {each.name for each in broker.embedded.topics}
    views = _definitions(broker) if DEFINITIONS_TOPIC in names else {}
    dead_letters = {
        topic: broker.topic(topic + DEAD_SUFFIX).values(value_format="bytes")
        for topic in (*inputs_of(graph), *(each.topic for each in graph.outputs))
        if topic + DEAD_SUFFIX in names
    }
    tables: dict[str, list[Row]] = {}
    for each in graph.outputs:
        if isinstance(each, MaterializedView):
            tables[each.name], rejected = _served(broker, views[each.topic])
            if rejected:
                dead_letters.setdefault(each.topic, []).extend(rejected)
        else:
            tables[each.name] = _rows(broker, each.topic)
    return PipelineRun(
        tables=tables,
        quarantine={
            each.name: _rows(broker, each.quarantine)
            for each in graph.outputs
            if each.quarantine in names
        },
        dead_letters=dead_letters,
        status=statuses,
    )


def _rows(broker: Broker, topic: str) -> list[Row]:
    return [_decoded(each) for each in broker.topic(topic).values(value_format="bytes")]


def _served(broker: Broker, view: View) -> tuple[list[Row], list[bytes | None]]:
    """The present rows, as a server of views has them, and what it rejects."""
    latest: dict[str, bytes | None] = {}
    rejected: list[bytes | None] = []
    for each in broker.topic(view.topic).records(value_format="bytes"):
        try:
            key = decode_key(view, each.key_bytes or b"")
            if each.raw_value is not None:
                decode_row(view, each.raw_value)
            latest[json.dumps(key)] = each.raw_value
        except InvalidRequest:
            rejected.append(each.raw_value)
    return [_decoded(each) for each in latest.values() if each is not None], rejected


def _decoded(value: bytes | None) -> Any:
    return None if value is None else json.loads(value, parse_float=exact_number)


def _definitions(broker: Broker) -> dict[str, View]:
    """By topic."""
    values = broker.topic(DEFINITIONS_TOPIC).values(value_format="bytes")
    return {view.topic: view for view in map(decode_definition, values)}
