"""A materialized view that is no stream: computed anew when what it reads has changed.

Only the difference to what its topic holds is written, in one transaction, deletions included. So a refresh
that is cut off is made good by the next one, and subscribers see changes, not copies.
"""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import uuid4

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.client.client import Client
from headwater.clock import Clock
from headwater.streams.run.expectations import OBSERVATION
from headwater.streams.run.files import Files
from headwater.streams.run.inputs import FORMAT
from headwater.streams.run.plan import Planned
from headwater.streams.run.status import WHOLE_RESULT
from headwater.streams.run.surroundings import Surroundings
from headwater.streams.whole.reads import Reads

LOOK_S: Final = 1.0
_REST: Final = 10
"""Looking takes at most one part in so many of the time: there may be many files, far away."""
_KEPT_REPORTS: Final = 10


@dataclass(frozen=True, slots=True)
class Report:
    """Progress in the form of Spark's reports."""

    json: str


@dataclass(frozen=True, slots=True)
class Refreshed:
    """What a refresh found: all rows of the result, whether they are new or not."""

    rows: int
    broken: Mapping[str, int]


class Refreshing:
    """Looks like a streaming query to its supervisor; works on a thread of its own."""

    def __init__(
        self, planned: Planned, refresh: Callable[[], Refreshed], extent: "Extent", clock: Clock
    ) -> None:
        self._refresh = refresh
        self._extent = extent
        self._clock = clock
        self._run_id = str(uuid4())
        self._stop = threading.Event()
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
        """End after the refresh at hand."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        try:
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
            self._failure = error

    def _report(self, refresh: Callable[[], Refreshed]) -> None:
        began_s = self._clock.monotonic_s()
        done = refresh()
        seconds = self._clock.monotonic_s() - began_s
        number = json.loads(self._reports[-1].json)["batchId"] + 1 if self._reports else 0
        progress = {
            "runId": self._run_id,
            "batchId": number,
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
        # One task is one transaction: readers see the whole refresh or nothing of it.
        writing = changed.coalesce(1).write.format(FORMAT).options(**options)
        writing.option("topic", topic).mode("append").save()
        for each in Reads.under(tables):
            each.done()
        return Refreshed(present.count(), _broken(present))
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
