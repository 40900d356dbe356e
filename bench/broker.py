"""Measure our broker against Apache Kafka: one run, the same client, the same payloads.

python bench/broker.py            the numbers of docs/benchmarks.md, about a quarter of an hour
python bench/broker.py --quick    a look, some minutes, smaller backlog
python bench/broker.py --render   docs/benchmarks.md again, from the last run's JSON
"""

import sys
from functools import partial
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import measures
import page
from results import THEIRS, Measure
from runs import Run, arguments

FAMILIES: Final = ("start", "throughput", "latency", "catch-up", "restart")
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


def main() -> None:
    parser = arguments(__doc__.splitlines()[0])
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=FAMILIES)
    parser.add_argument(
        "--restart-kafka", action="store_true", help="measure the restart of Apache Kafka, too"
    )
    asked = parser.parse_args()
    if asked.render:
        page.write()
        return
    run = Run("broker", measure_of, asked)
    run.found.is_median = True
    families = set(asked.families)
    _measure(run, families, measures.QUICK if asked.quick else measures.FULL, asked.restart_kafka)
    run.finish(is_whole=not asked.quick and not asked.only and families == set(FAMILIES))


def _measure(run: Run, families: set[str], scale: measures.Scale, restart_kafka: bool) -> None:
    if "start" in families:
        run.each(measures.start, scale.starts)
    loads = {"throughput": measures.throughput, "latency": measures.latency}
    chosen = [partial(loads[each], scale=scale) for each in loads if each in families]
    if chosen:
        run.by_turns(measures.warm_up, *chosen, rounds=scale.rounds)
    if "catch-up" in families:
        run.by_turns(measures.warm_up, partial(measures.catch_up, scale=scale), rounds=1)
    if "restart" in families:
        if not restart_kafka:
            run.brokers.pop(THEIRS, None)
        run.running(partial(measures.restart, scale=scale))


if __name__ == "__main__":
    main()
