"""Samples into numbers, numbers into a table: on the terminal, as JSON, in docs/benchmarks.md."""

import datetime as dt
import json
import os
import platform
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).resolve().parent.parent
JSON_FILE: Final = ROOT / "bench" / "results" / "broker.json"
# A run that is short or partial is not for the record.
ASIDE_FILE: Final = JSON_FILE.with_suffix(".json.tmp")
DOCS_FILE: Final = ROOT / "docs" / "benchmarks.md"
OURS, THEIRS = "headwater", "kafka"


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

    def is_met(self, ours: float, ratio: float | None) -> bool | None:
        value = ours if self.is_absolute else ratio
        if self.target is None or value is None:
            return None
        return value >= self.target if self.is_more_better else value <= self.target


PRODUCE: Final = Measure("MB/s", 0.8, is_more_better=True)
CONSUME: Final = Measure("MB/s", 1.0, is_more_better=True)
CATCH_UP: Final = {
    "rate": Measure("MB/s"),
    "p99 of a producer alone": Measure("ms"),
    "p99 of a producer beside it": Measure("ms"),
    "p99 grows by": Measure("x", 1),
    "memory before": Measure("MB"),
    "memory peak": Measure("MB"),
}


def measure_of(name: str) -> Measure:
    """The unit and the target of a measurement, by its name."""
    if name.endswith("cores"):
        return Measure("cores")
    if name.startswith("restart"):
        return Measure("s", 5, is_absolute=True)
    if ": " in name:
        return CATCH_UP[name.partition(": ")[2]]
    return {
        "start to first record": Measure("s", 0.15),
        "memory idle": Measure("MB", 0.25),
        "latency p50": Measure("ms"),
        "latency p99": Measure("ms", 2),
    }.get(name, PRODUCE if name.startswith("produce") else CONSUME)


@dataclass
class Results:
    """Every sample of every measurement, by name and broker."""

    scale: str
    command: str
    notes: list[str] = field(default_factory=list)
    samples: dict[str, dict[str, list[float]]] = field(default_factory=dict)

    def add(self, broker: str, name: str, value: float) -> None:
        self.samples.setdefault(name, {}).setdefault(broker, []).append(value)

    def best(self, name: str, broker: str) -> float | None:
        """The sample that the rest of the machine disturbed least, for both brokers alike."""
        samples = self.samples[name].get(broker)
        if not samples:
            return None
        return max(samples) if measure_of(name).unit == "MB/s" else min(samples)

    def ratio(self, name: str) -> float | None:
        ours, theirs = self.best(name, OURS), self.best(name, THEIRS)
        return ours / theirs if ours is not None and theirs else None

    def rows(self) -> list[tuple[str, ...]]:
        """The table: measurement, unit, ours, Kafka's, ratio, target."""
        rows = [("measurement", "unit", "Headwater", "Apache Kafka", "ratio", "target")]
        for name in self.samples:
            if name.endswith("cores"):
                continue
            measure, ours = measure_of(name), self.best(name, OURS)
            verdict = measure.is_met(ours, self.ratio(name)) if ours is not None else None
            mark = {True: " ✓", False: " ✗", None: ""}[verdict]
            rows.append(
                (
                    name,
                    measure.unit,
                    _number(ours),
                    _number(self.best(name, THEIRS)),
                    _number(self.ratio(name), "x"),
                    measure.target_text() + mark,
                )
            )
        return rows

    def core_rows(self) -> list[tuple[str, ...]]:
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
                        _number(self.best(f"{shape}: {part} cores", broker))
                        for broker in (OURS, THEIRS)
                        for part in ("client", "broker")
                    ),
                )
            )
        return rows

    def as_json(self) -> dict[str, Any]:
        return {
            "measured_at": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            "scale": self.scale,
            "command": self.command,
            "machine": machine(),
            "notes": self.notes,
            "samples": self.samples,
        }

    def save(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(self.as_json(), indent=2) + "\n")


def load_saved() -> dict[str, Any]:
    return json.loads(JSON_FILE.read_text())


def machine() -> dict[str, Any]:
    pages, page_bytes = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    return {
        "cores": os.cpu_count(),
        "processor": _processor(),
        "memory_gb": round(pages * page_bytes / 1e9),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
    }


def render(saved: dict[str, Any]) -> str:
    """docs/benchmarks.md, from the JSON of a run."""
    results = Results(saved["scale"], saved["command"], saved["notes"], saved["samples"])
    host = saved["machine"]
    return DOCUMENT.format(
        command=saved["command"],
        measured_at=saved["measured_at"][:10],
        host=f"{host['cores']} cores ({host['processor']}), {host['memory_gb']} GB, "
        f"{host['system']}, Python {host['python']}",
        table=markdown(results.rows()),
        cores=markdown(results.core_rows()),
        notes="".join(f"- {note}\n" for note in saved["notes"]),
    )


def markdown(rows: list[tuple[str, ...]]) -> str:
    head, *body = rows
    lines = [head, tuple("---" if index == 0 else "---:" for index in range(len(head))), *body]
    return "\n".join(f"| {' | '.join(row)} |" for row in lines)


def terminal(rows: list[tuple[str, ...]]) -> str:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if index == 0 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def _number(value: float | None, suffix: str = "") -> str:
    if value is None:
        return "-"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f}{suffix}"


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


DOCUMENT: Final = """# Benchmarks

This page is written by the program that measures:

```
{command}
```

Measured {measured_at} on {host}. Brokers and clients share the machine. Numbers are the best of the
rounds, for both brokers alike; every sample is in `bench/results/broker.json`.

{table}

A ratio is Headwater's number divided by Apache Kafka's. ✓ and ✗ say whether it meets the target.

## What is compared

One run, the same client (confluent-kafka, in a process of its own), the same payloads, both brokers in
turn on the same disk. Apache Kafka is one KRaft node from Maven with the settings and the JVM options it
ships with; it acknowledges from the page cache. Headwater syncs to disk before it acknowledges `acks=all`:
where its numbers are lower, this is what the difference buys.

- Produce: `acks=all`, `linger.ms=5`, batches up to 1 MB, random bytes, no compression.
- Consume: a whole topic from its beginning, by one consumer, right after it was written.
- Latency: 1 KiB records at 1,000 per second, `linger.ms=0`, counted from when a record was due.
- Start: a new process on an empty directory, until a first record has been acknowledged.
- Catch-up: a consumer reads a backlog beside the latency load; a warm backlog is in the page cache, a cold
  one was dropped from it. On a cold one, Headwater's syncs and the reads share the disk.

## What bounds the numbers

Processor time used per second of wall time. A client near or above one core is at its own limit, and then
the number says what this client can do, not what the broker can.

{cores}

{notes}"""
