"""One round of the workload on a broker: what was tried, and what was wrong with it."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from histories.checker import Anomaly, check
from histories.history import History, Isolation, Outcome
from histories.producers.java import is_java_here
from histories.topics import SHARED_GROUP
from histories.workload import Workload
from histories.writer import Order
from rigs.brokers import Broker


@dataclass(frozen=True)
class Load:
    """Who writes (library and group; without a group it appends) and how often there is harm.

    The first writer is always there, with `others` that are drawn from the rest.
    """

    writers: tuple[tuple[str, str | None], ...]
    others: int
    disturbances: int
    transactions_between: int


TIMEOUTS_MS: Final = (3_000, 30_000)
SHORT: Final = Load(
    writers=(
        ("confluent", None),
        ("aiokafka", None),
        ("kafka_python", "own"),
        ("confluent", SHARED_GROUP),
    ),
    others=3,
    disturbances=4,
    transactions_between=40,
)
LONG: Final = Load(
    writers=(
        ("confluent", None),
        ("kafka_python", None),
        ("aiokafka", None),
        ("java", None),
        ("confluent", SHARED_GROUP),
        ("confluent", SHARED_GROUP),
        ("kafka_python", "own-1"),
        ("aiokafka", "own-2"),
        ("java", "own-3"),
    ),
    others=4,
    disturbances=12,
    transactions_between=100,
)


@dataclass(frozen=True)
class Verdict:
    history: History
    anomalies: list[Anomaly]
    counts: Counter[str]
    failures: list[str]
    """What the workload itself could not do."""


def run_round(broker: Broker, load: Load, seed: int, errors: Path) -> Verdict:
    """Run writers and readers on a broker that this may kill, disturb them, and judge what they saw."""
    random = Random(seed)
    workload = Workload(broker, _orders(load, broker.bootstrap, seed), random, errors)
    with workload.running():
        # Whatever chance does, each round has a kill of the broker in its middle.
        for number in range(load.disturbances):
            workload.crew.wait_for(random.randint(1, 2 * load.transactions_between))
            if number == load.disturbances // 2:
                workload.deeds["broker killed"] += 1
                workload.kill_the_broker()
            else:
                workload.disturb()
        workload.crew.wait_for(load.transactions_between)
        workload.crew.wait_for_everyone()
    history = workload.history()
    return Verdict(
        history, check(history), _counts(history) + workload.deeds, workload.crew.failures
    )


def _orders(load: Load, bootstrap: str, seed: int) -> list[Order]:
    first, *rest = (each for each in load.writers if each[0] != "java" or is_java_here())
    random = Random(seed)
    drawn = [first, *random.sample(rest, load.others)]
    return [
        Order(
            name=f"{library}-{index}",
            library=library,
            bootstrap=bootstrap,
            incarnation=0,
            seed=seed,
            timeout_ms=random.choice(TIMEOUTS_MS),
            group=group,
        )
        for index, (library, group) in enumerate(drawn)
    ]


def _counts(history: History) -> Counter[str]:
    counts = Counter(each.outcome.value for each in history.transactions)
    counts["tried"] = len(history.transactions)
    aborted = {
        append.value
        for each in history.transactions
        if each.outcome is Outcome.ABORTED
        for append in each.appends
    }
    for reading in history.readings:
        counts["records read"] += len(reading.records)
        if reading.isolation is Isolation.READ_UNCOMMITTED and reading.is_final:
            counts["aborted records in the log"] += sum(
                each.value in aborted for each in reading.records
            )
    return counts
