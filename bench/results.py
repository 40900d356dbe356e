"""Samples into numbers, numbers into rows of a table; one JSON file per benchmark keeps them all."""

import datetime as dt
import json
import os
import platform
import random
import statistics
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from tables import Row, number

ROOT: Final = Path(__file__).resolve().parent.parent
OURS, THEIRS = "headwater", "kafka"
FEWEST_SAMPLES: Final = 7
DRAWS: Final = 2000


@dataclass(frozen=True)
class Measure:
    """A line of the table. `target` is about the ratio ours / Kafka's, unless `is_absolute`."""

    unit: str
    target: float | None = None
    is_more_better: bool = False
    is_absolute: bool = False

    def target_text(self) -> str:
        if self.target is None:
            return ""
        sign = "≥" if self.is_more_better else "≤"
        return f"{sign} {self.target:g}{f' {self.unit}' if self.is_absolute else 'x'}"

    def verdict(self, ours: float, ratio: float | None, spread: "Spread | None") -> str:
        """Whether the target is met; neither yes nor no if the samples cannot tell."""
        value = ours if self.is_absolute else ratio
        if self.target is None or value is None:
            return ""
        if not self.is_absolute and spread is not None and spread.low < self.target < spread.high:
            return "≈"
        is_met = value >= self.target if self.is_more_better else value <= self.target
        return "✓" if is_met else "✗"


class Spread(NamedTuple):
    """Between which a ratio lies, as far as its samples tell: 95 of 100 runs like this one."""

    low: float
    high: float

    def __str__(self) -> str:
        return f"{number(self.low)} to {number(self.high)}"


@dataclass
class Results:
    """Every sample of every measurement, by name and broker, and what the numbers mean."""

    benchmark: str
    scale: str
    command: str
    notes: list[str] = field(default_factory=list)
    measures: dict[str, Measure] = field(default_factory=dict)
    samples: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)
    measured_at: str = ""
    against: str = "Apache Kafka"
    """What the second column is."""
    is_median: bool = False
    """Whether a number is the median of its samples, not the best of them."""

    def add(self, broker: str, name: str, measure: Measure, value: float) -> None:
        self.measures[name] = measure
        self.samples.setdefault(name, {}).setdefault(broker, []).append(value)

    def value(self, name: str, broker: str) -> float | None:
        """The median, or the sample that the rest of the machine disturbed least; for both sides alike."""
        samples = self.samples[name].get(broker)
        if not samples:
            return None
        if self.is_median:
            return statistics.median(samples)
        return max(samples) if self.measures[name].unit.endswith("/s") else min(samples)

    def ratio(self, name: str) -> float | None:
        ours, theirs = self.value(name, OURS), self.value(name, THEIRS)
        return ours / theirs if ours is not None and theirs else None

    def spread(self, name: str) -> Spread | None:
        """Draw the samples again and again, with replacement (bootstrap); None if they are few."""
        ours, theirs = (self.samples[name].get(each, []) for each in (OURS, THEIRS))
        if not self.is_median or min(len(ours), len(theirs)) < FEWEST_SAMPLES:
            return None
        draw = random.Random(0)
        ratios = statistics.quantiles(
            (
                statistics.median(draw.choices(ours, k=len(ours)))
                / statistics.median(draw.choices(theirs, k=len(theirs)))
                for _ in range(DRAWS)
            ),
            n=40,
        )
        return Spread(ratios[0], ratios[-1])

    def rows(self) -> list[Row]:
        """The table: measurement, unit, ours; if there is another side, its number, ratio, target."""
        names = [each for each in self.samples if not each.endswith("cores")]
        has_other = any(THEIRS in self.samples[each] for each in names)
        has_spread = any(self.spread(each) for each in names)
        head: Row = ("measurement", "unit", "Headwater")
        if has_other:
            head += (self.against, "ratio", *(["spread"] if has_spread else []), "target")
        rows = [head]
        for name in names:
            measure, ours = self.measures[name], self.value(name, OURS)
            row: Row = (name, measure.unit, number(ours))
            if has_other:
                theirs, ratio, spread = (
                    self.value(name, THEIRS),
                    self.ratio(name),
                    self.spread(name),
                )
                verdict = measure.verdict(ours, ratio, spread) if ours is not None else ""
                row += (number(theirs), number(ratio, "x"))
                row += (str(spread or ""),) if has_spread else ()
                row += (f"{measure.target_text()} {verdict}".strip(),)
            rows.append(row)
        return rows

    def core_rows(self) -> list[Row]:
        """What bounds a throughput: the processor time of client and broker, per second."""
        rows = [("while", "client, Headwater", "broker", "client, Apache Kafka", "broker")]
        for name in self.samples:
            if not name.endswith(": client cores"):
                continue
            shape = name.removesuffix(": client cores")
            rows.append(
                (
                    shape,
                    *(
                        number(self.value(f"{shape}: {part} cores", broker))
                        for broker in (OURS, THEIRS)
                        for part in ("client", "broker")
                    ),
                )
            )
        return rows

    def save(self, *, is_whole: bool) -> None:
        """Keep it for the record; a run that is short or partial goes beside that."""
        self.measured_at = dt.datetime.now(dt.UTC).isoformat(timespec="seconds")
        self.machine = machine()
        file = file_of(self.benchmark) if is_whole else file_of(self.benchmark, ".json.tmp")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(asdict(self), indent=2) + "\n")

    @classmethod
    def load(cls, benchmark: str) -> Self:
        saved = json.loads(file_of(benchmark).read_text())
        measures = {name: Measure(**each) for name, each in saved.pop("measures").items()}
        return cls(**saved, measures=measures)


def file_of(benchmark: str, suffix: str = ".json") -> Path:
    return ROOT / "bench" / "results" / f"{benchmark}{suffix}"


def machine() -> dict[str, Any]:
    pages, page_bytes = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return {
        "cores": os.cpu_count(),
        "processor": _processor(),
        "memory_gb": round(pages * page_bytes / 1e9),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
    }


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()
