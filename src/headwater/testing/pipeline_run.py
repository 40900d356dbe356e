"""A whole pipeline in a test: fed, run to the end of its input on a real broker and Spark, and read."""

import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import headwater
from headwater.clock import Clock
from headwater.errors import NotFound, Unavailable
from headwater.streams.datasets import Changelog, MaterializedView, Table
from headwater.streams.graph import Graph
from headwater.streams.pipeline import Pipeline
from headwater.streams.source.options import DEAD_SUFFIX
from headwater.testing.broker import Broker

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headwater.client import Client
    from headwater.streams.run.status import Status

Row = Mapping[str, Any]
Feed = Mapping[str, Iterable[Any]]


@dataclass(frozen=True, slots=True)
class PipelineRun:
    """What a pipeline made of its feed."""

    tables: Mapping[str, list[Row]]
    """Every row of each table, and the present rows of each materialized view."""
    quarantine: Mapping[str, list[Row]]
    """Rows that broke a rule, by table."""
    dead_letters: Mapping[str, list[bytes | None]]
    """Values that could not be read, by topic."""
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
    """Run `pipeline` over `feed`, a mapping from topics to values, and return what came out.

    Several feeds are run one after another, as they would arrive over time: a watermark moves from one to
    the next. A value is an object (sent as JSON) or bytes; `(key, value)` sets the key, and `(key, None)`
    deletes it from a changelog, whose rows are otherwise keyed by its key columns. Raises `Unavailable`
    with the reason if a query fails.
    """
    from headwater.streams.run.runner import Runner  # noqa: PLC0415  pyspark is slow to import
    from headwater.streams.run.surroundings import Surroundings  # noqa: PLC0415
    from headwater.streams.session import open_session  # noqa: PLC0415

    graph = pipeline.graph()
    feeds = [feed] if isinstance(feed, Mapping) else list(feed)
    session = spark or open_session("headwater tests", master="local[2]")
    with (
        Broker(clock=clock, num_partitions=partitions) as broker,
        headwater.connect(broker.bootstrap) as client,
        tempfile.TemporaryDirectory(prefix="headwater-") as state,
    ):
        for topic in _inputs(graph):
            broker.create_topic(topic, partitions=partitions)
        runner = Runner(session, client, Surroundings(broker.bootstrap, Path(state)), clock)
        statuses: list[Status] = []
        for each in feeds:
            _send(client, graph, each)
            statuses = runner.run_once([graph])
            _refuse_failed(statuses)
        return _collected(graph, broker, {each.query: each for each in statuses})


def _inputs(graph: Graph) -> list[str]:
    written = {each.topic for each in graph.outputs}
    return sorted(
        {
            topic
            for each in graph.datasets.values()
            if (topic := getattr(each, "topic", None)) is not None and topic not in written
        }
    )


def _send(client: "Client", graph: Graph, feed: Feed) -> None:
    keys = {each.topic: each.key for each in graph.datasets.values() if isinstance(each, Changelog)}
    with client.producer(value_format="bytes") as producer:
        for topic, values in feed.items():
            for each in values:
                key, value = each if isinstance(each, tuple) else (None, each)
                if key is None and isinstance(value, Mapping) and topic in keys:
                    key = json.dumps({name: value[name] for name in keys[topic]}, default=str)
                producer.send(topic, _encoded(value), key=key)


def _encoded(value: Any) -> bytes | None:
    if value is None or isinstance(value, bytes):
        return value
    return json.dumps(value, default=_iso).encode()


def _iso(value: Any) -> str:
    """Dates and times as the source reads them."""
    return str(value.isoformat()) if hasattr(value, "isoformat") else str(value)


def _refuse_failed(statuses: "list[Status]") -> None:
    for each in statuses:
        if each.state == "failed":
            raise Unavailable(f"{each.name} failed at {each.location}: {each.error}")


def _collected(graph: Graph, broker: Broker, statuses: "Mapping[str, Status]") -> PipelineRun:
    names = {each.name for each in broker.embedded.topics}
    return PipelineRun(
        tables={each.name: _rows(broker, each) for each in graph.outputs},
        quarantine={
            each.name: [record.value for record in broker.topic(each.quarantine).records()]
            for each in graph.outputs
            if each.quarantine in names
        },
        dead_letters={
            topic: [
                record.value
                for record in broker.topic(topic + DEAD_SUFFIX).records(value_format="bytes")
            ]
            for topic in _inputs(graph)
            if topic + DEAD_SUFFIX in names
        },
        status=statuses,
    )


def _rows(broker: Broker, output: Table | MaterializedView) -> list[Row]:
    records = broker.topic(output.topic).records()
    if isinstance(output, Table):
        return [each.value for each in records]
    latest = {str(each.key): each.value for each in records}
    return [row for row in latest.values() if row is not None]
