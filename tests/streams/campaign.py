"""The long form of the sink's crash tests: `make streams ROUNDS=n SEED=s`.

In each round three queries copy and count a topic, by task, atomic and stateful, while events arrive. Their
driver, its Python workers and the broker are killed at random, again and again. At the end every event must
be in each output once. Exits with 1 if one is lost or doubled.
"""
# ruff: noqa: T201 - this is a program

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))

from confluent_kafka import Producer  # noqa: E402 - after the path is set

from bulk.reading import whole  # noqa: E402
from headwater.bulk.cluster import Cluster  # noqa: E402
from headwater.bulk.reader import BulkReader  # noqa: E402
from headwater.client.address import find_address  # noqa: E402
from rigs.apache_kafka import ApacheKafka  # noqa: E402
from rigs.headwater_process import HeadwaterProcess  # noqa: E402

EVENTS = 12_000
KEYS = 7
PARTITIONS = 4
KILLS = 6
DRIVER = TESTS / "streams" / "campaign_driver.py"

Rig = HeadwaterProcess | ApacheKafka


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--broker", choices=["headwater", "kafka"], default="headwater")
    chosen = arguments.parse_args()
    counts: Counter[str] = Counter()
    for number in range(chosen.rounds):
        run_round(Random(chosen.seed + number), chosen.broker, counts)
        print(f"round {number + 1}/{chosen.rounds} seed {chosen.seed + number}: {dict(counts)}")
    sys.exit(1 if counts["lost"] or counts["doubled"] or counts["wrong totals"] else 0)


def run_round(rng: Random, broker: str, counts: Counter[str]) -> None:
    settings = {"num.partitions": str(PARTITIONS)}
    rig: Rig = (
        HeadwaterProcess({"num_partitions": str(PARTITIONS)})
        if broker == "headwater"
        else ApacheKafka(settings)
    )
    with rig as log, tempfile.TemporaryDirectory() as state:
        feeding = threading.Thread(target=feed, args=(log.bootstrap,))
        feeding.start()
        for _ in range(KILLS):
            with driver(log, Path(state)) as process:
                wait_for_batches(process, rng.randint(1, 6))
                time.sleep(rng.random() * 2)
                counts[accident(rng, process, log)] += 1
        feeding.join()
        with driver(log, Path(state), "--to-the-end") as process:
            wait_for_batches(process, None)
            if process.wait() != 0:
                counts["failed queries"] += 1
        check(log.bootstrap, counts)


def feed(bootstrap: str) -> None:
    """Numbered events, a hundred every moment, so that they come all the time."""
    producer = Producer(
        {"bootstrap.servers": bootstrap, "log_level": 0, "enable.idempotence": True}
    )
    for number in range(EVENTS):
        producer.produce("in", b"%d" % number, key=b"%d" % (number % KEYS))
        if number % 100 == 0:
            producer.flush(60)
            time.sleep(0.3)
    assert producer.flush(120) == 0


@contextmanager
def driver(log: Rig, state: Path, *options: str) -> Iterator["subprocess.Popen[str]"]:
    """In a session of its own: the JVM and the Python workers are killed with it."""
    command = [sys.executable, str(DRIVER), log.bootstrap, str(state), *options]
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def wait_for_batches(process: "subprocess.Popen[str]", count: int | None) -> None:
    """Read what the driver tells, up to so many batches or to its end."""
    assert process.stdout is not None
    for seen, _ in enumerate(process.stdout, 1):
        if seen == count:
            return


def accident(rng: Random, process: "subprocess.Popen[str]", log: Rig) -> str:
    kind = rng.choice(["driver kills", "driver kills", "task kills", "broker kills"])
    if kind == "task kills":
        workers = python_workers(process.pid)
        if workers:
            os.kill(rng.choice(workers), signal.SIGKILL)
            wait_for_batches(process, 2)
    elif kind == "broker kills":
        log.kill()
        log.restart()
        wait_for_batches(process, 2)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    return kind


def python_workers(session: int) -> list[int]:
    """The Python processes of the driver's session that are not the driver itself."""
    found = []
    for each in Path("/proc").iterdir():
        if not each.name.isdecimal() or int(each.name) == session:
            continue
        try:
            fields = (each / "stat").read_text().rpartition(")")[2].split()
            command = (each / "cmdline").read_bytes()
        except OSError:
            continue
        if int(fields[3]) == session and b"pyspark.daemon" in command:
            found.append(int(each.name))
    return found


def check(bootstrap: str, counts: Counter[str]) -> None:
    expected = Counter(b"%d" % number for number in range(EVENTS))
    for topic in ("copied", "atomic"):
        found = Counter(value for _, value in records(bootstrap, topic))
        counts["lost"] += sum((expected - found).values())
        counts["doubled"] += sum((found - expected).values())
        counts["checked"] += sum(found.values())
    totals = records(bootstrap, "totals")
    counts["doubled"] += len(totals) - len(set(totals))
    latest = {key: max(int(value) for each, value in totals if each == key) for key, _ in totals}
    right = Counter(b"%d" % (number % KEYS) for number in range(EVENTS))
    counts["wrong totals"] += sum(latest.get(key) != count for key, count in right.items())


def records(bootstrap: str, topic: str) -> list[tuple[bytes, bytes]]:
    with Cluster(find_address(bootstrap).endpoints) as cluster:
        return [
            (key.as_py(), value.as_py())
            for partition in cluster.topics([topic])[topic].partitions
            for batch in BulkReader(cluster).read(whole(cluster, topic, partition))
            for key, value in zip(batch["key"], batch["value"], strict=True)
        ]


if __name__ == "__main__":
    main()
