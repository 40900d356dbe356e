"""Run pipelines: several queries in one Spark application, each on its own feet."""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.readwriter import DataStreamWriter

from headwater.client.admin.topics import TopicIdentity
from headwater.client.client import Client
from headwater.clock import Clock, SystemClock
from headwater.errors import HeadwaterError, InvalidRequest, NotFound, Unavailable
from headwater.streams.datasets import MaterializedView
from headwater.streams.graph import Graph
from headwater.streams.register import default_log
from headwater.streams.run.board import Board, Wishes
from headwater.streams.run.dead_counts import DeadCounts
from headwater.streams.run.lock import alone
from headwater.streams.run.outputs import prepare
from headwater.streams.run.plan import Planned, plan_all
from headwater.streams.run.read_positions import ReadPositions
from headwater.streams.run.refresh import Extent, Refreshed, Refreshing, refresh
from headwater.streams.run.renamed import refuse_renamed
from headwater.streams.run.settings import in_force
from headwater.streams.run.status import Status
from headwater.streams.run.steps import Steps
from headwater.streams.run.supervision import Query, Supervised
from headwater.streams.run.surroundings import Surroundings
from headwater.streams.session import has_ended, use_in_this_thread
from headwater.streams.sink.foreach_batch import into_topic
from headwater.streams.sink.unfinished import is_within_batch
from headwater.streams.source.options import DEAD_SUFFIX
from headwater.streams.user_files import send_along

LOOK_S: Final = 0.2
PUBLISH_S: Final = 2.0
DYING_S: Final = 10.0
"""How long a Spark that hangs up may take to be gone."""

OnStatus = Callable[[Sequence[Status]], None]


class Runner:
    """The queries of some pipelines, from plan to end."""

    def __init__(
        self, spark: SparkSession, client: Client, where: Surroundings, clock: Clock | None = None
    ) -> None:
        self._spark = spark
        self._client = client
        self._where = where
        self._clock = clock or SystemClock()
        self._board = Board(client)
        self._dead = DeadCounts(where)
        self._positions = ReadPositions(client, self._clock)
        self._steps = Steps(())

    def plan(self, graphs: Iterable[Graph]) -> list[Planned]:
        """Plan everything before anything starts: a mistake in one query stops nothing half-way."""
        graphs = list(graphs)
        use_in_this_thread(self._spark)
        send_along(flow.body for graph in graphs for flow in graph.flows)
        with default_log(self._spark, self._where.options()):
            planned = [
                each for graph in graphs for each in plan_all(graph, self._spark, self._where)
            ]
        self._steps = Steps(planned)
        return planned

    def run_once(self, graphs: Iterable[Graph]) -> list[Status]:
        """Process what is in the topics now, downstream after upstream, and end; what is paused rests.

        Raises `Conflict` while another run of one of the pipelines uses the same checkpoints.
        """
        graphs = list(graphs)
        with self._alone(graphs):
            return self._run_once(graphs)

    def _run_once(self, graphs: list[Graph]) -> list[Status]:
        planned = self._begun(graphs)
        statuses = []
        paused = self._board.paused()
        for wave in _waves(planned):
            supervised = [Supervised(each, self._start_once, self._clock) for each in wave]
            for each in supervised:
                names = {each.planned.name, each.planned.pipeline}
                each.step(is_paused=not paused.isdisjoint(names))
            for each in supervised:
                statuses.append(each.finish())
                self._positions.note(each.planned, statuses[-1].positions)
        statuses = self._with_dead(statuses)
        for status in statuses:
            self._board.publish(status)
        return statuses

    def run(
        self, graphs: Iterable[Graph], stop: threading.Event, on_status: OnStatus | None = None
    ) -> None:
        """Run until `stop` is set; a query that fails is started again, the others go on.

        Raises `Unavailable` if Spark itself dies; nothing is lost, the next run goes on. Raises `Conflict`
        as `run_once` does.
        """
        graphs = list(graphs)
        self._refuse_bad_trigger()
        with self._alone(graphs):
            self._run(graphs, stop, on_status)

    def _run(self, graphs: list[Graph], stop: threading.Event, on_status: OnStatus | None) -> None:
        planned = self._begun(graphs)
        supervised = [Supervised(each, self._start, self._clock) for each in planned]
        try:
            with Wishes(self._client) as wishes:
                self._keep_running(supervised, wishes, stop, on_status)
        except (Py4JError, OSError) as error:
            if not has_ended(self._spark, within_s=DYING_S):
                raise
            if not stop.is_set():
                raise self._spark_died(supervised) from error
            for each in supervised:  # whoever ended us ended Spark as well
                each.lose()
        finally:
            self._publish(supervised, on_status)

    def _begun(self, graphs: list[Graph]) -> list[Planned]:
        """What is to run, once nothing speaks against it."""
        planned = self.plan(graphs)
        if self._where.on_change == "refuse":
            refuse_renamed(planned, self._where.checkpoints)
        self._take_on(planned)
        self._board.put_up()
        return planned

    @contextlib.contextmanager
    def _alone(self, graphs: list[Graph]) -> Iterator[None]:
        with contextlib.ExitStack() as held:
            for each in graphs:
                held.enter_context(alone(self._where.checkpoints.lock_of(each.name), each.name))
            yield

    def _refuse_bad_trigger(self) -> None:
        """Spark would say so of each query, at every attempt."""
        jvm = self._spark._jvm  # noqa: SLF001
        assert jvm is not None
        interval = self._where.trigger_interval
        try:
            jvm.org.apache.spark.sql.streaming.Trigger.ProcessingTime(interval)
        except PySparkException as error:
            raise InvalidRequest(
                f"{interval!r} is no time from one batch to the next",
                hint="write it as '1 second' or '5 minutes'",
            ) from error

    def _keep_running(
        self,
        supervised: list[Supervised],
        wishes: Wishes,
        stop: threading.Event,
        on_status: OnStatus | None,
    ) -> None:
        last_published_s = -PUBLISH_S
        try:
            while not stop.is_set():
                if has_ended(self._spark):
                    raise self._spark_died(supervised)
                before = [each.state for each in supervised]
                for each in supervised:
                    name = each.planned.flow.name
                    each.step(is_paused=wishes.is_paused(each.planned.pipeline, name))
                self._positions.note_all(
                    (each.planned, each.status().positions) for each in supervised
                )
                is_changed = before != [each.state for each in supervised]
                now_s = self._clock.monotonic_s()
                if is_changed or now_s - last_published_s >= PUBLISH_S:
                    last_published_s = now_s
                    self._publish(supervised, on_status)
                stop.wait(LOOK_S)
        finally:
            for each in supervised:
                each.stop()

    def _spark_died(self, supervised: list[Supervised]) -> Unavailable:
        reason = "the process of Spark has died"
        for each in supervised:
            each.lose(reason)
        return Unavailable(
            f"{reason}, killed or out of memory; nothing is lost",
            hint='run it again; for more memory: spark_conf = { "spark.driver.memory" = "4g" }',
        )

    def _take_on(self, planned: list[Planned]) -> None:
        for each in planned:
            found = self._identities({*each.must_stay, each.output.topic})
            own = found.get(each.output.topic)
            is_view = isinstance(each.output, MaterializedView)
            signature = replace(
                each.signature,
                topic_ids={name: topic.id for name, topic in found.items()},
                partitions=own.partitions if own and is_view else 0,
            )
            each.checkpoint.take_on(signature, each.flow, on_change=self._where.on_change)

    def _identities(self, topics: Iterable[str]) -> dict[str, TopicIdentity]:
        found = {}
        for each in topics:
            with contextlib.suppress(NotFound):  # the query itself will say so
                found[each] = self._client.admin.topics.identity(each)
        return found

    def _publish(self, supervised: list[Supervised], on_status: OnStatus | None) -> None:
        statuses = [each.status() for each in supervised]
        if on_status is not None:
            on_status(statuses)
        # While the log is away, queries say so themselves, and a later report will come through.
        with contextlib.suppress(HeadwaterError):
            for status in self._with_dead(statuses):
                self._board.publish(status)

    def _with_dead(self, statuses: list[Status]) -> list[Status]:
        """The same, with each query's dead letters of what it reads, and those of a view's own rows."""
        letters = {each.name: _letters_of(each) for each in statuses}
        self._dead.look({topic for each in letters.values() for topic in each})
        return [
            replace(each, dead=self._dead.of(each.name, letters[each.name])) for each in statuses
        ]

    def _start(self, planned: Planned) -> Query:
        self._prepare(planned)
        if not planned.is_streaming:
            return self._refreshing(planned).start(once=False)
        writer = self._writer(planned).trigger(processingTime=self._where.trigger_interval)
        with in_force(planned.flow, self._spark):
            return writer.start()

    def _start_once(self, planned: Planned) -> Query:
        self._prepare(planned)
        if not planned.is_streaming:
            return self._refreshing(planned).start(once=True)
        with in_force(planned.flow, self._spark):
            return self._writer(planned).trigger(availableNow=True).start()

    def _prepare(self, planned: Planned) -> None:
        self._positions.begin(planned)
        steps = self._steps.to(planned)
        prepare(self._client, planned, steps, may_move=self._where.on_change == "keep")
        self._take_on([planned])  # once more: a topic may have been made anew since the last start

    def _refreshing(self, planned: Planned) -> Refreshing:
        work = partial(self._refresh, planned)
        return Refreshing(planned, work, Extent(self._client, planned), self._clock)

    def _refresh(self, planned: Planned) -> Refreshed:
        self._take_on([planned])  # once more: the topic of the view may have got more partitions
        return refresh(self._spark, planned, self._where)

    def _writer(self, planned: Planned) -> DataStreamWriter:
        output = planned.output
        options = {
            **self._where.options(),
            "defaultTopic": output.topic,  # Rows that break a rule name another.
            "atomic": str(output.atomic).lower(),
            "checkpointLocation": str(planned.checkpoint.spark),
            # Markers expire while there is nothing to do; what was never begun needs none.
            "onMissingMarker": "fail" if is_within_batch(planned.checkpoint.spark) else "write",
        }
        writer = (
            planned.records.writeStream.queryName(planned.name)
            .outputMode(planned.output_mode)
            .option("checkpointLocation", str(planned.checkpoint.spark))
        )
        if planned.output_mode == "append":
            return writer.format("headwater").options(**options)
        return writer.foreachBatch(into_topic(options))


def _letters_of(status: Status) -> set[str]:
    """The topics of records that a query could not read, or that nobody could serve."""
    own = {status.topic} if status.kind == "materialized view" else set()
    return {topic + DEAD_SUFFIX for topic in {*status.reads.values(), *own}}


def _waves(planned: list[Planned]) -> list[list[Planned]]:
    """Queries that may run at the same time: each wave reads only what earlier waves have written."""
    waves: list[list[Planned]] = []
    waiting = list(planned)
    while waiting:
        unwritten = {each.output.topic for each in waiting}
        ready = [
            each
            for each in waiting
            if unwritten.isdisjoint(set(each.reads.values()) - {each.output.topic})
        ]
        waves.append(ready or waiting)
        waiting = [] if not ready else [each for each in waiting if each not in ready]
    return waves
