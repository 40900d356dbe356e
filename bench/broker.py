"""Measure our broker against Apache Kafka: one run, the same client, the same payloads.

python bench/broker.py            the numbers of docs/benchmarks.md, about a quarter of an hour
python bench/broker.py --quick    a look, some minutes, smaller backlog
python bench/broker.py --render   docs/benchmarks.md again, from the last run's JSON
"""

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import measures
import results
from measures import Broker, Scale

from rigs.apache_kafka import ApacheKafka, kafka_libs
from rigs.headwater_process import HeadwaterProcess
from rigs.process import Unavailable

FAMILIES = ("start", "throughput", "latency", "catch-up", "restart")
# Above this, the numbers say more about the other programs than about the brokers.
QUIET_CORES = 0.1
NewBroker = Callable[[], Broker]


class Run:
    """One run over both brokers, in turn, so that a slow minute of the machine hits both."""

    def __init__(self, brokers: dict[str, NewBroker], scale: Scale, found: results.Results) -> None:
        self.brokers = brokers
        self.scale = scale
        self.found = found
        self.began = time.monotonic()

    def start(self) -> None:
        for _ in range(self.scale.starts):
            for name, new_broker in self.brokers.items():
                measures.start(new_broker, self._reporter(name))

    def in_rounds(self, *families: Callable[[Broker, Scale, measures.Report], None]) -> None:
        for _ in range(self.scale.rounds):
            self.once(*families)

    def once(self, *families: Callable[[Broker, Scale, measures.Report], None]) -> None:
        for name, new_broker in self.brokers.items():
            with new_broker() as broker:
                for family in families:
                    family(broker, self.scale, self._reporter(name))

    def _reporter(self, broker: str) -> measures.Report:
        def report(name: str, value: float) -> None:
            self.found.add(broker, name, value)
            elapsed = time.monotonic() - self.began
            unit = results.measure_of(name).unit
            print(f"{elapsed:6.0f} s  {broker:9}  {name}: {value:.2f} {unit}", flush=True)

        return report


def main() -> None:
    arguments = _arguments()
    if arguments.render:
        results.DOCS_FILE.write_text(results.render(results.load_saved()))
        return
    scale = measures.QUICK if arguments.quick else measures.FULL
    found = results.Results(
        "quick" if arguments.quick else "full", f"python bench/broker.py {_flags()}".strip()
    )
    brokers: dict[str, NewBroker] = {
        results.OURS: HeadwaterProcess,
        results.THEIRS: ApacheKafka,
    }
    for name in list(brokers):
        if arguments.only and name != arguments.only:
            del brokers[name]
    try:
        kafka_libs()
    except Unavailable as reason:
        brokers.pop(results.THEIRS, None)
        found.notes.append(f"Apache Kafka was not measured: {reason}.")
    others = measures.OtherPrograms()
    _measure(Run(brokers, scale, found), set(arguments.families), arguments.restart_kafka)
    found.notes.append(_disturbance(others.cores()))
    is_whole = (
        not arguments.quick and not arguments.only and set(arguments.families) == set(FAMILIES)
    )
    found.save(results.JSON_FILE if is_whole else results.ASIDE_FILE)
    print(f"\n{results.terminal(found.rows())}\n\n{results.terminal(found.core_rows())}")
    print("", *found.notes, sep="\n")
    if is_whole:
        results.DOCS_FILE.write_text(results.render(results.load_saved()))


def _measure(run: Run, families: set[str], restart_kafka: bool) -> None:
    if "start" in families:
        run.start()
    loads = {"throughput": measures.throughput, "latency": measures.latency}
    chosen = [measure for family, measure in loads.items() if family in families]
    if chosen:
        run.in_rounds(*chosen)
    if "catch-up" in families:
        run.once(measures.catch_up)
    if "restart" in families:
        if not restart_kafka:
            run.brokers.pop(results.THEIRS, None)
        run.once(measures.restart)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="less data, one round")
    parser.add_argument("--render", action="store_true", help="write the page from the last JSON")
    parser.add_argument("--only", choices=(results.OURS, results.THEIRS), help="one broker")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=FAMILIES)
    parser.add_argument(
        "--restart-kafka", action="store_true", help="measure the restart of Apache Kafka, too"
    )
    return parser.parse_args()


def _disturbance(cores: float) -> str:
    note = f"Other programs used {cores:.2f} of the cores on average while this was measured."
    return note if cores < QUIET_CORES else f"{note} That is too much: measure again in peace."


def _flags() -> str:
    return " ".join(sys.argv[1:])


if __name__ == "__main__":
    main()
