"""Measure transactional produce on our broker and on Apache Kafka: one run, the same client and payloads.

python bench/transactions.py            the numbers of docs/benchmarks.md, some minutes
python bench/transactions.py --quick    a look
python bench/transactions.py --render   docs/benchmarks.md again, from the last run's JSON
"""

import os
import sys
from functools import partial
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import load
import page
from measures import SHAPES, label, report_throughput
from results import Measure
from runs import Run, Sides, arguments
from watch import apart, broker_cpu

from rigs.brokers import Broker

ROUNDS: Final = 9
TRANSACTIONS: Final = 400
QUICK_TRANSACTIONS: Final = 200
WARM_UP_TRANSACTIONS: Final = 300
PRODUCE: Final = Measure("MB/s", 0.8, is_more_better=True)


def measure_of(name: str) -> Measure:
    return Measure("cores") if name.endswith("cores") else PRODUCE


def transactions(sides: Sides, count: int) -> None:
    for size_bytes, partitions in SHAPES:
        topic = f"transactions-{size_bytes}-{partitions}"
        for broker, report in sides:
            load.create_topic(broker.bootstrap, topic, partitions)
            asked = (broker.bootstrap, topic, count, size_bytes)
            with broker_cpu(broker) as cpu:
                written = apart(load.produce_in_transactions, *asked)
            report_throughput(report, label(size_bytes, partitions), written, cpu)
            os.sync()
        # Only now: what one broker frees, the other would find in memory that is faster than new one.
        for broker, _ in sides:
            load.delete_topic(broker.bootstrap, topic)


def _warm_up(broker: Broker) -> None:
    """The JVM compiles while it serves; nobody measures that on purpose."""
    load.create_topic(broker.bootstrap, "warm-up", 8)
    asked = (broker.bootstrap, "warm-up", WARM_UP_TRANSACTIONS, 1024)
    apart(load.produce_in_transactions, *asked)


def main() -> None:
    asked = arguments(__doc__.splitlines()[0]).parse_args()
    if asked.render:
        page.write()
        return
    run = Run("transactions", measure_of, asked)
    run.found.is_median = True
    count = QUICK_TRANSACTIONS if asked.quick else TRANSACTIONS
    rounds = 1 if asked.quick else ROUNDS
    run.by_turns(_warm_up, partial(transactions, count=count), rounds=rounds)
    run.finish(is_whole=not asked.quick and not asked.only)


if __name__ == "__main__":
    main()
