"""How long a test waits for `headwater.testing.Broker`: python bench/testing_kit.py [ROUNDS].

Prints, in milliseconds: the import (once per process), start until clients can connect, the first record
produced and read back, and a clean stop.
"""

import statistics
import subprocess
import sys
import time
from collections import defaultdict

IMPORT = """
import time
began = time.perf_counter()
from headwater.testing import Broker
print(time.perf_counter() - began)
"""
GOAL_MS = 300


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    times = measure(rounds)
    times["import"] = [
        float(subprocess.check_output([sys.executable, "-c", IMPORT])) for _ in range(5)
    ]
    print(f"{'step':<14}{'median':>9}{'worst':>9}   milliseconds, {rounds} rounds")
    for step in ("import", "start", "first record", "stop"):
        taken = [each * 1000 for each in times[step]]
        print(f"{step:<14}{statistics.median(taken):>9.1f}{max(taken):>9.1f}")
    ready = statistics.median(times["import"]) + statistics.median(times["start"])
    print(f"ready in {ready * 1000:.0f} ms with the import (goal: {GOAL_MS})")


def measure(rounds: int) -> dict[str, list[float]]:
    from confluent_kafka import Producer  # noqa: PLC0415 - not part of what is measured

    from headwater.testing import Broker  # noqa: PLC0415

    times: dict[str, list[float]] = defaultdict(list)
    for _ in range(rounds):
        began = time.perf_counter()
        broker = Broker().start()
        started = time.perf_counter()
        producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0, "log_level": 0})
        producer.produce("topic", b"1")
        producer.flush()
        assert broker.topic("topic").values() == [1]
        stored = time.perf_counter()
        broker.stop()
        times["start"].append(started - began)
        times["first record"].append(stored - started)
        times["stop"].append(time.perf_counter() - stored)
    return times


if __name__ == "__main__":
    main()
