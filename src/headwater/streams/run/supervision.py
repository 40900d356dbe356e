"""One query, kept running: started again after a failure, later each time, until it makes progress."""

import contextlib
import json
import time
from collections.abc import Callable
from typing import Final

from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from headwater.clock import Clock
from headwater.errors import HeadwaterError
from headwater.streams.datasets import MaterializedView
from headwater.streams.run.failures import in_one_sentence
from headwater.streams.run.plan import Planned
from headwater.streams.run.refresh import Refreshing
from headwater.streams.run.status import Counts, State, Status

FIRST_DELAY_S: Final = 1.0
LONGEST_DELAY_S: Final = 60.0
_LOOK_S: Final = 0.05

Query = StreamingQuery | Refreshing
Start = Callable[[Planned], Query]


class Supervised:
    """A state machine with time as an argument; `step` looks at the query and acts."""

    def __init__(self, planned: Planned, start: Start, clock: Clock) -> None:
        self.planned = planned
        self._start = start
        self._clock = clock
        self._query: Query | None = None
        self._counts = Counts()
        self._delay_s = FIRST_DELAY_S
        self._due_s = 0.0
        self._batch_at_start: int | None = None
        self._is_paused = False
        self.state: State = "starting"
        self.restarts = 0
        self.error: str | None = None

    def step(self, *, is_paused: bool) -> None:
        """Do what is due: begin, note progress, begin again, pause."""
        if is_paused:
            self._pause()
            return
        if self.state == "paused":
            self.state, self._due_s = "starting", 0.0
        if self._query is None:
            if self._clock.monotonic_s() >= self._due_s and self.state != "done":
                self._begin()
            return
        self._note_progress(self._query)
        if not self._query.isActive:
            self._ended(self._query)

    def finish(self) -> Status:
        """Wait for a query that ends by itself; it gets one try."""
        if self._query is not None:
            query = self._query
            with contextlib.suppress(StreamingQueryException):
                query.awaitTermination()
            self._note_progress(query)
            self._ended(query)
        if self.state == "restarting":
            self.state, self.restarts = "failed", 0
        return self.status()

    def stop(self) -> None:
        """End after the batch at hand is given up; it is repeated at the next start."""
        if self._query is not None:
            self._query.stop()
            self._query = None
        if self.state not in ("done", "failed", "paused"):
            self.state = "stopped"

    def lose(self, reason: str | None = None) -> None:
        """Spark is gone, and the query with it; without a reason, because all was told to end."""
        self._query = None
        self.state, self.error = "failed" if reason else "stopped", reason

    def status(self) -> Status:
        planned, counts = self.planned, self._counts
        return Status(
            pipeline=planned.pipeline,
            query=planned.flow.name,
            kind="materialized view" if isinstance(planned.output, MaterializedView) else "table",
            state=self.state,
            location=str(planned.flow.location),
            topic=planned.output.topic,
            reads=planned.reads,
            at_ms=self._clock.now_ms(),
            batch=counts.batch,
            rows=counts.rows,
            rows_per_second=counts.rows_per_second,
            batch_ms=counts.batch_ms,
            lag=counts.lag,
            positions=dict(counts.positions),
            watermark=counts.watermark,
            state_bytes=counts.state_bytes,
            late=counts.late,
            broken=dict(counts.broken),
            restarts=self.restarts,
            error=self.error,
        )

    def _begin(self) -> None:
        try:
            self._query = self._start(self.planned)
            _await_sources(self._query)
        except HeadwaterError as error:
            self._failed(str(error))
        except Exception as error:  # noqa: BLE001  Spark raises many kinds; each is this query's only
            self._failed(in_one_sentence(error, self.planned.checkpoint.folder))
        else:
            self.state = "running"
            self._batch_at_start = self._counts.batch

    def _note_progress(self, query: Query) -> None:
        for each in query.recentProgress:
            self._counts.add(json.loads(each.json))
        if self._counts.batch != self._batch_at_start:
            self._delay_s, self.error = FIRST_DELAY_S, None

    def _ended(self, query: Query) -> None:
        self._query = None
        failure = query.exception()
        if failure is None:
            self.state = "done"
        else:
            self._failed(in_one_sentence(failure, self.planned.checkpoint.folder))

    def _failed(self, reason: str) -> None:
        self.error = reason
        self.state = "restarting"
        self.restarts += 1
        self._due_s = self._clock.monotonic_s() + self._delay_s
        self._delay_s = min(2 * self._delay_s, LONGEST_DELAY_S)

    def _pause(self) -> None:
        if self._query is not None:
            self._query.stop()
            self._query = None
        if self.state != "done":
            self.state = "paused"


def _await_sources(query: Query) -> None:
    """Queries begin one after the other: Spark gives up on a source that needs ten seconds to come up."""
    if isinstance(query, Refreshing):
        return
    while query.isActive and str(query.status["message"]).startswith("Initializing"):
        time.sleep(_LOOK_S)
