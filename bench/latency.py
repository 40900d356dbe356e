"""Measure how old news is: from a producer through a pipeline on Spark to a subscriber of the view.

python bench/latency.py            the numbers of docs/benchmarks.md, some minutes
python bench/latency.py --quick    a look
python bench/latency.py --render   docs/benchmarks.md again, from the last run's JSON
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Final
from urllib.request import urlopen

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import load
import numpy as np
import numpy.typing as npt
import page
from confluent_kafka import Producer
from results import OURS, Measure
from runs import Run, arguments
from watch import percentile

import headwater
from rigs.headwater_process import HeadwaterProcess
from rigs.view_process import ViewProcess

TOPIC: Final = "bench.events"
VIEW: Final = "bench.newest"
SOURCES: Final = 1000
PIPELINE: Final = f"""
import headwater as hw
from pyspark.sql import functions as F

bench = hw.Pipeline("bench")
bench.topic("{TOPIC}", schema="source BIGINT, number BIGINT, size DOUBLE")


@bench.materialized_view(key="source")
def newest(events):
    totals = F.max("number").alias("number"), F.count("*").alias("events"), F.sum("size").alias("size")
    return events.groupBy("source").agg(*totals)
"""
RATES: Final = (1_000, 10_000)
WARM_UP_S: Final = 30
QUICK_WARM_UP_S: Final = 15
LEAD_IN_S: Final = 5
MEASURED_S: Final = 30
QUICK_MEASURED_S: Final = 10

Seen = list[tuple[float, int, int]]
"""When a subscriber saw a row, and its source and newest number."""


def produce(bootstrap: str, first: int, count: int, rate_per_second: int) -> float:
    """Send numbered events at a fixed rate; returns when the first was due (monotonic clock)."""
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 5})
    producer.list_topics(TOPIC, 10)
    began = time.monotonic()
    for index in range(count):
        while (wait_s := began + index / rate_per_second - time.monotonic()) > 0:
            producer.poll(wait_s)
        source, number = (first + index) % SOURCES, first + index
        value = b'{"source":%d,"number":%d,"size":1.5}' % (source, number)
        producer.produce(TOPIC, value, b"%d" % source)
        producer.poll(0)
    assert producer.flush(60) == 0, "records were not acknowledged in time"
    return began


def watch(url: str, up_to: int) -> Seen:
    """Subscribe to the view, and note every row until those of all events before `up_to` came."""
    newest = [-1] * SOURCES
    wanted = [up_to - 1 - (up_to - 1 - source) % SOURCES for source in range(SOURCES)]
    seen: Seen = []
    missing = SOURCES
    with urlopen(f"{url}/v1/views/{VIEW}/subscribe", timeout=120) as events:
        for line in events:
            if not line.startswith(b"data: "):
                continue
            row = json.loads(line[6:]).get("row")
            if row is None:
                continue
            at, source, number = time.monotonic(), row["source"], row["number"]
            seen.append((at, source, number))
            missing -= newest[source] < wanted[source] <= number
            newest[source] = number
            if not missing:
                return seen
    raise AssertionError("the server ended the subscription")


def latencies_ms(
    seen: Seen, numbers: npt.NDArray[np.int64], due_s: npt.NDArray[np.float64]
) -> list[float]:
    """Milliseconds from when each event was due until a row was there that has it in it."""
    at = np.array([each[0] for each in seen])
    source = np.array([each[1] for each in seen])
    newest = np.array([each[2] for each in seen])
    found = np.empty(len(numbers))
    for each in range(SOURCES):
        rows, events = source == each, numbers % SOURCES == each
        first_row = np.searchsorted(newest[rows], numbers[events])
        found[events] = at[rows][first_row] - due_s[events]
    return (found * 1000).tolist()


@contextmanager
def pipeline(bootstrap: str, directory: Path) -> Iterator[None]:
    """`headwater pipeline run`, as a user would start it."""
    (directory / "pipeline.py").write_text(PIPELINE)
    command = [sys.executable, "-m", "headwater", "--bootstrap", bootstrap]
    process = subprocess.Popen(
        [*command, "pipeline", "run", "pipeline.py"], cwd=directory, env=dict(os.environ)
    )
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


def measure(run: Run, broker: HeadwaterProcess, directory: Path, *, is_quick: bool) -> None:
    report = run.reporter(OURS)
    load.create_topic(broker.bootstrap, TOPIC, 2)
    with (
        pipeline(broker.bootstrap, directory),
        ViewProcess(broker.bootstrap, directory / "views") as server,
        headwater.connect(broker.bootstrap, views=server.url) as client,
        ProcessPoolExecutor(2, get_context("spawn")) as pool,
    ):
        while VIEW not in [each.name for each in client.views.list() if each.as_of]:
            time.sleep(0.1)
        first = 0

        def run_for(seconds: int, rate: int) -> list[float]:
            """Send for so long, and wait until all is seen; all times but those of the lead-in."""
            nonlocal first
            count = rate * seconds
            watching = pool.submit(watch, server.url, first + count)
            began = pool.submit(produce, broker.bootstrap, first, count, rate).result()
            index = np.arange(rate * LEAD_IN_S, count)
            samples = latencies_ms(watching.result(), first + index, began + index / rate)
            first += count
            return samples

        run_for(QUICK_WARM_UP_S if is_quick else WARM_UP_S, RATES[0])
        for rate in RATES:
            samples = run_for(LEAD_IN_S + (QUICK_MEASURED_S if is_quick else MEASURED_S), rate)
            for rank in (50, 99):
                report(f"{rate:,} events/s, p{rank}", percentile(samples, rank))


def main() -> None:
    asked = arguments(__doc__.splitlines()[0]).parse_args()
    if asked.render:
        page.write()
        return
    asked.only = OURS  # nobody else has the whole way
    run = Run("latency", lambda _: Measure("ms"), asked)
    with tempfile.TemporaryDirectory() as name, HeadwaterProcess() as broker:
        measure(run, broker, Path(name), is_quick=asked.quick)
    run.finish(is_whole=not asked.quick)


if __name__ == "__main__":
    main()
