"""What is known of a running query, in plain data: published to a topic, shown by the command line."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final, Literal

from headwater.streams.source.offsets import OLD_START

STATUS_TOPIC: Final = "__headwater.pipelines"
"""Compacted: the last status of each query, and what users want of it (`control.py`)."""

State = Literal[
    "starting", "running", "restarting", "paused", "failed", "stopped", "done", "lost", "older"
]
ACTIVE: Final = ("starting", "running", "restarting")
"""States of which a living runner tells again and again."""

LOST_AFTER_S: Final = 30.0
"""Many times what a runner lets pass between two reports: the log may be away, and clocks differ."""

WHOLE_RESULT: Final = "headwater.broken-of-whole-result"
"""In a report: rows of all the result, not of what is new, that broke each rule."""


@dataclass(frozen=True, slots=True)
class Status:
    """One query at one moment; counts are since the runner started."""

    pipeline: str
    query: str
    kind: str
    state: State
    location: str
    topic: str
    reads: Mapping[str, str]
    at_ms: int
    batch: int | None = None
    rows: int = 0
    rows_per_second: float = 0.0
    batch_ms: int | None = None
    lag: int | None = None
    """Records that are in the topics and not yet processed."""
    positions: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Topic -> partition -> next offset: what is before it has been processed and written."""
    watermark: str | None = None
    state_bytes: int = 0
    late: int = 0
    """Rows that came after the watermark had passed them."""
    dead: int = 0
    """Records in the dead-letter topics of what it reads, but for those that other queries wrote."""
    broken: Mapping[str, int] = field(default_factory=dict)
    """Rows that broke each rule; of a view that is computed anew, those of the last time."""
    restarts: int = 0
    error: str | None = None

    @property
    def name(self) -> str:
        return f"{self.pipeline}.{self.query}"

    def as_of(self, now_ms: int) -> "Status":
        """The same, or `lost` if its runner should have told of it long ago: nobody says that of itself."""
        if self.state not in ACTIVE or now_ms - self.at_ms <= LOST_AFTER_S * 1000:
            return self
        last = datetime.fromtimestamp(self.at_ms / 1000, UTC).isoformat(timespec="seconds")
        return replace(self, state="lost", error=f"its run has said nothing since {last}")

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> "Status":
        known = {name: value[name] for name in cls.__dataclass_fields__ if name in value}
        return cls(**known)


@dataclass(slots=True)
class Counts:
    """What Spark reports per batch, added up."""

    batch: int | None = None
    rows: int = 0
    rows_per_second: float = 0.0
    batch_ms: int | None = None
    lag: int | None = None
    positions: dict[str, dict[str, int]] = field(default_factory=dict)
    watermark: str | None = None
    state_bytes: int = 0
    late: int = 0
    broken: dict[str, int] = field(default_factory=dict)
    _seen: tuple[str, int] | None = None

    def add(self, progress: Mapping[str, Any]) -> None:
        """Take in one progress report of Spark (as JSON); a report that was seen counts once."""
        place = (str(progress["runId"]), int(progress["batchId"]))
        is_new = self._seen is None or place[0] != self._seen[0] or place[1] > self._seen[1]
        self.batch = place[1]
        self.rows_per_second = float(progress.get("processedRowsPerSecond") or 0)
        self.batch_ms = (progress.get("durationMs") or {}).get("triggerExecution")
        self.lag = _lag(progress.get("sources") or [])
        self.positions.update(_positions(progress.get("sources") or []))
        self.watermark = (progress.get("eventTime") or {}).get("watermark") or self.watermark
        operators = progress.get("stateOperators") or []
        self.state_bytes = sum(_size_of_state(each) for each in operators)
        if not is_new:
            return
        self._seen = place
        self.rows += int(progress.get("numInputRows") or 0)
        self.late += sum(int(each.get("numRowsDroppedByWatermark") or 0) for each in operators)
        if WHOLE_RESULT in progress:
            self.broken = dict(progress[WHOLE_RESULT])
        for observed in (progress.get("observedMetrics") or {}).values():
            for rule, count in observed.items():
                self.broken[rule] = self.broken.get(rule, 0) + int(count or 0)


def _size_of_state(operator: Mapping[str, Any]) -> int:
    on_disk = (operator.get("customMetrics") or {}).get("rocksdbSstFileSize") or 0
    return int(operator.get("memoryUsedBytes") or 0) + int(on_disk)


def _lag(sources: list[Mapping[str, Any]]) -> int | None:
    known = [each for each in sources if each.get("latestOffset") and each.get("endOffset")]
    if not known:
        return None
    return sum(
        max(0, int(latest) - int(_at(each["endOffset"], topic, partition)))
        for each in known
        for topic, partitions in each["latestOffset"].items()
        for partition, latest in partitions.items()
    )


def _positions(sources: list[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Of a topic that a query reads twice, how far both readers are."""
    found: dict[str, dict[str, int]] = {}
    for each in sources:
        for topic, partitions in (each.get("endOffset") or {}).items():
            if partitions and not topic.endswith(OLD_START):
                at = found.setdefault(topic, {})
                for partition, offset in partitions.items():
                    at[partition] = min(int(offset), at.get(partition, int(offset)))
    return found


def _at(offsets: Mapping[str, Any], topic: str, partition: str) -> int:
    return int((offsets.get(topic) or {}).get(partition, 0))
