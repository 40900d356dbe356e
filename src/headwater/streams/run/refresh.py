"""A materialized view that is no stream: computed anew when what it reads has changed.

Only the difference to what its topic holds is written, in one transaction, deletions included. So a refresh
that is cut off is made good by the next one, and subscribers see changes, not copies.
"""

import contextlib
import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.client.client import Client
from headwater.clock import Clock
from headwater.streams.run.expectations import OBSERVATION
from headwater.streams.run.files import Files
from headwater.streams.run.inputs import FORMAT
from headwater.streams.run.plan import Planned
from headwater.streams.run.refresh_number import query_id_of, take_number
from headwater.streams.run.status import WHOLE_RESULT
from headwater.streams.run.surroundings import Surroundings
from headwater.streams.sink.options import STAGING
from headwater.streams.sink.writers import QUERY_ID
from headwater.streams.whole.reads import Reads

LOOK_S: Final = 1.0
_REST: Final = 10
"""Looking takes at most one part in so many of the time: there may be many files, far away."""
_KEPT_REPORTS: Final = 10
_GIVE_UP_AGAIN_S: Final = 0.5


@dataclass(frozen=True, slots=True)
class Report:
    """Progress in the form of Spark's reports."""

    json: str


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a refresh found: all rows of the result, whether they are new or not."""

    number: int
    """How many were written before it, in all runs."""
    rows: int
    broken: Mapping[str, int]


class Refreshing:
    """Looks like a streaming query to its supervisor; works on a thread of its own."""

    def __init__(
        self, planned: Planned, refresh: Callable[[], Refreshed], extent: "Extent", clock: Clock
    ) -> None:
        self._planned = planned
        self._refresh = refresh
        self._extent = extent
        self._clock = clock
        self._run_id = str(uuid4())
        self._stop = threading.Event()
        self._is_given_up = False
        self._failure: Exception | None = None
        self._reports: list[Report] = []
        self._thread = threading.Thread(target=self._run, name=planned.name, daemon=True)

    def start(self, *, once: bool) -> "Refreshing":
        if once:
            self._stop.set()
        self._thread.start()
        return self

    @property
    def isActive(self) -> bool:  # noqa: N802  Spark's names
        return self._thread.is_alive()

    @property
    def recentProgress(self) -> list[Report]:  # noqa: N802
        return list(self._reports)

    def exception(self) -> Exception | None:
        return self._failure

    def awaitTermination(self) -> None:  # noqa: N802
        self._thread.join()

    def stop(self) -> None:
        """Give up the refresh at hand, however long it would take: the next one makes it good."""
        self._is_given_up = True
        self._stop.set()
        context = self._planned.records.sparkSession.sparkContext
        while self._thread.is_alive():
            with contextlib.suppress(Py4JError, OSError):  # Spark is gone
                context.cancelJobsWithTag(self._run_id)
            self._thread.join(_GIVE_UP_AGAIN_S)  # it may have been about to begin a job

    def _run(self) -> None:
        try:
            context = self._planned.records.sparkSession.sparkContext
            context.setLocalProperty(QUERY_ID, query_id_of(self._planned))
            context.addJobTag(self._run_id)
            seen: Mapping[str, Any] | None = None
            while True:
                began_s = self._clock.monotonic_s()
                now = self._extent.now()
                looked_s = self._clock.monotonic_s() - began_s
                if now != seen:
                    self._report(self._refresh)
                    seen = now
                if self._stop.wait(max(LOOK_S, _REST * looked_s)):
                    return
        except Exception as error:  # noqa: BLE001  the supervisor decides
            self._failure = None if self._is_given_up else error

    def _report(self, refresh: Callable[[], Refreshed]) -> None:
        began_s = self._clock.monotonic_s()
        done = refresh()
        seconds = self._clock.monotonic_s() - began_s
        progress = {
            "runId": self._run_id,
            "batchId": done.number,
            "numInputRows": done.rows,
            "processedRowsPerSecond": done.rows / seconds if seconds else 0.0,
            WHOLE_RESULT: done.broken,
            "durationMs": {"triggerExecution": int(seconds * 1000)},
        }
        self._reports = [*self._reports[-_KEPT_REPORTS:], Report(json.dumps(progress))]


class Extent:
    """What there is to read: how far the topics of a query reach, and its files."""

    def __init__(self, client: Client, planned: Planned) -> None:
        self._client = client
        self._topics = sorted(set(planned.reads.values()))
        self._files = Files(planned.records)

    def now(self) -> dict[str, Any]:
        ends = self._client.admin.topics.ends_of(self._topics)
        return {"ends": ends, "files": self._files.now()}


def refresh(spark: SparkSession, planned: Planned, where: Surroundings) -> Refreshed:
    """Bring the topic of a view up to the present result."""
    options = where.options()
    # Spark looks for data sources in the session of the thread.
    sessions = SparkSession._get_j_spark_session_class(spark._jvm)  # noqa: SLF001
    sessions.setActiveSession(spark._jsparkSession)  # noqa: SLF001
    tables = planned.checkpoint.tables
    number = take_number(planned, where)
    for each in Reads.under(tables):  # of a refresh that was cut off
        each.give_up()
    present = _one_per_key(planned).persist()
    try:
        topic = planned.output.topic
        stored = spark.read.format(FORMAT).options(**options).option("subscribe", topic).load()
        latest = stored.groupBy("key").agg(F.max_by("value", "offset").alias("stored"))
        changed = (
            present.join(latest, "key", "full_outer")
            .filter(~F.col("value").eqNullSafe(F.col("stored")))
            .select("key", "value")
        )
        # Readers see the whole refresh or nothing of it.
        writing = changed.write.format(FORMAT).options(**options).option("topic", topic)
        writing = writing.option("atomic", "true").option("batchId", str(number))
        writing = writing.option("stagingDirectory", str(planned.checkpoint.folder / STAGING))
        writing.mode("append").save()
        for each in Reads.under(tables):
            each.done()
        return Refreshed(number, present.count(), _broken(present))
    finally:
        present.unpersist()


def _broken(computed: DataFrame) -> dict[str, int]:
    """What the rules observed as the rows were computed."""
    observed = computed._jdf.queryExecution().observedMetrics().get(OBSERVATION)  # noqa: SLF001
    return json.loads(observed.get().json()) if observed.isDefined() else {}


def _one_per_key(planned: Planned) -> DataFrame:
    message = F.lit(f"two rows of {planned.output.name!r} have the same key")
    return (
        planned.records.groupBy("key")
        .agg(F.first("value").alias("value"), F.count("*").alias("copies"))
        .select(
            "key",
            F.when(F.col("copies") > 1, F.raise_error(message))
            .otherwise(F.col("value"))
            .alias("value"),
        )
    )
