"""Measure views: following against the raw store, reads over HTTP, a thousand subscribers.

python bench/views.py            the numbers of docs/benchmarks.md, a few minutes
python bench/views.py --quick    a look
python bench/views.py --render   docs/benchmarks.md again, from the last run's JSON
"""

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import page
from confluent_kafka import Producer
from results import OURS, THEIRS, Measure, Results
from runs import disturbance
from tables import terminal
from watch import OtherPrograms, apart, percentile

import headwater
from headwater.client import Client
from headwater.followers.sqlite.shelf import SqliteShelf
from headwater.followers.sqlite.store import SqliteStore
from headwater.views import View
from rigs.changelog import Changelog, make_view
from rigs.headwater_process import HeadwaterProcess
from rigs.view_process import ViewProcess

KEYS: Final = 200_000
BATCH: Final = 50_000
COLUMNS: Final = {
    "minute": "timestamp",
    "customer": "bigint",
    "orders": "bigint",
    "total": "double",
}
FOLLOW: Final = Measure("rows/s", 0.6, is_more_better=True)
MILLISECONDS: Final = Measure("ms")


def records(count: int) -> Iterator[tuple[bytes, bytes]]:
    """Every key once in each round, in another order: collapsing has nothing to do."""
    shuffled, order = random.Random(1), list(range(KEYS))
    for number in range(count):
        if number % KEYS == 0:
            shuffled.shuffle(order)
        customer = order[number % KEYS]
        key = b'{"minute":"2026-09-01T10:%02d:00.000000Z","customer":%d}' % (
            customer % 60,
            customer,
        )
        yield key, key[:-1] + b',"orders":%d,"total":%d.5}' % (number // KEYS, customer + number)


def raw_store(count: int) -> float:
    """Rows per second that SQLite takes when they lie ready in memory."""
    rows = [tuple(json.loads(value).values()) for _, value in records(count)]
    names = ", ".join(COLUMNS)
    upsert = (
        f"INSERT INTO rows ({names}) VALUES (?, ?, ?, ?) ON CONFLICT (minute, customer) "
        "DO UPDATE SET orders = excluded.orders, total = excluded.total"
    )
    with tempfile.TemporaryDirectory() as directory:
        shelf = SqliteShelf(Path(directory))
        store = shelf.create(_view("raw"), "topic", {0: 0}, now_ms=1)
        assert isinstance(store, SqliteStore)
        db = store._db  # noqa: SLF001  the bare connection is what is measured
        began = time.perf_counter()
        for start in range(0, count, BATCH):
            db.execute("BEGIN IMMEDIATE")
            db.executemany(upsert, rows[start : start + BATCH])
            db.execute("COMMIT")
        seconds = time.perf_counter() - began
        store.close()
        shelf.close()
    return count / seconds


def follow(bootstrap: str, view: View, count: int) -> float:
    """Rows per second from a topic into a store, from the definition until the view is served."""
    with (
        tempfile.TemporaryDirectory() as directory,
        ViewProcess(bootstrap, Path(directory) / "views") as server,
        headwater.connect(bootstrap, views=server.url) as client,
    ):
        began = time.perf_counter()
        client.admin.views.define(view)
        while view.name not in [each.name for each in client.views.list() if each.as_of]:
            time.sleep(0.02)
        seconds = time.perf_counter() - began
        (found,) = client.views.query(f'SELECT count(*) FROM "{view.name}"').rows[0]
        assert found == min(count, KEYS)
        client.admin.views.drop(view.name)

    return count / seconds


def write(bootstrap: str, topic: str, count: int) -> None:
    producer = Producer(
        {"bootstrap.servers": bootstrap, "linger.ms": 20, "batch.size": 1_000_000, "log_level": 0}
    )
    for key, value in records(count):
        while True:
            try:
                producer.produce(topic, value, key)
                break
            except BufferError:
                producer.poll(0.1)
    producer.flush()


def point_reads(url: str, bootstrap: str, name: str, count: int) -> list[float]:
    """Milliseconds of each, in a process of its own."""
    with headwater.connect(bootstrap, views=url) as client:
        view = client.view(name)
        samples = []
        for number in range(count + 200):
            customer = number * 7919 % KEYS
            began = time.perf_counter()
            row = view.get(minute=f"2026-09-01T10:{customer % 60:02d}Z", customer=customer)
            samples.append((time.perf_counter() - began) * 1000)
            assert row is not None
    return samples[200:]


def own_writes(url: str, bootstrap: str, view: View, count: int) -> list[float]:
    with headwater.connect(bootstrap, views=url) as client:
        changelog, served = Changelog(client, view), client.view(view.name)
        samples = []
        for number in range(count + 20):
            row = _row(number)
            began = time.perf_counter()
            receipt = changelog.put(row)
            found = served.get(minute=row["minute"], customer=number, wait_for=receipt)
            samples.append((time.perf_counter() - began) * 1000)
            assert found is not None
    return samples[20:]


def subscribers(url: str, name: str, count: int, changes: int) -> list[list[float]]:
    """When each subscriber has read each change (wall clock), all of them in one process."""
    host, _, port = url.removeprefix("http://").rpartition(":")

    async def subscribe(seen: list[float], ready: asyncio.Semaphore) -> None:
        reader, writer = await asyncio.open_connection(host, int(port))
        path = f"/v1/views/{name}/subscribe?snapshot=false"
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        while len(seen) < changes:
            line = await reader.readline()
            if line.startswith(b"event: progress"):
                ready.release()
            elif line.startswith(b"event: change"):
                seen.append(time.time())
        writer.close()

    async def run() -> list[list[float]]:
        seen: list[list[float]] = [[] for _ in range(count)]
        ready = asyncio.Semaphore(0)
        tasks = [asyncio.create_task(subscribe(each, ready)) for each in seen]
        for _ in range(count):
            await ready.acquire()
        print("ready", flush=True)
        await asyncio.gather(*tasks)
        return seen

    return asyncio.run(run())


def fan_out(
    server: ViewProcess, client: Client, view: View, count: int, changes: int
) -> list[float]:
    """Milliseconds from before a change is produced until a subscriber has read it, for all of both."""
    changelog = Changelog(client, view)
    command = [
        sys.executable,
        __file__,
        "--subscribe",
        server.url,
        view.name,
        str(count),
        str(changes),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        produced = []
        for number in range(changes):
            produced.append(time.time())
            changelog.put(_row(number))
            time.sleep(max(0.0, 0.1 - (time.time() - produced[-1])))
        seen = json.loads(process.stdout.readline())
    return [(at - began) * 1000 for each in seen for at, began in zip(each, produced, strict=True)]


def _view(name: str) -> View:
    return make_view(name, COLUMNS)


def _row(customer: int) -> dict[str, object]:
    return {"minute": "2026-09-01T11:00Z", "customer": customer, "orders": 1, "total": 1.5}


@contextmanager
def served(bootstrap: str, view: View) -> Iterator[tuple[ViewProcess, Client]]:
    with (
        tempfile.TemporaryDirectory() as directory,
        ViewProcess(bootstrap, Path(directory) / "views") as server,
        headwater.connect(bootstrap, views=server.url) as client,
    ):
        client.admin.views.define(view)
        while view.name not in [each.name for each in client.views.list() if each.as_of]:
            time.sleep(0.01)
        yield server, client


def measure(found: Results, count: int, rounds: int, subscriber_count: int) -> None:
    def report(side: str, name: str, kind: Measure, value: float) -> None:
        found.add(side, name, kind, value)
        print(f"{name} ({side}): {value:.2f} {kind.unit}", flush=True)

    def report_times(name: str, samples: list[float]) -> None:
        report(OURS, f"{name}, p50", MILLISECONDS, percentile(samples, 50))
        report(OURS, f"{name}, p99", MILLISECONDS, percentile(samples, 99))

    with HeadwaterProcess() as broker, headwater.connect(broker.bootstrap) as admin:
        topic = _view("bench.revenue").topic
        kept = {"cleanup.policy": "compact", "min.compaction.lag.ms": "86400000"}
        admin.admin.topics.create(topic, partitions=1, configs=kept)
        apart(write, broker.bootstrap, topic, count)
        for number in range(rounds):
            report(THEIRS, "follower", FOLLOW, apart(raw_store, count))
            view = make_view(f"bench.revenue{number}", COLUMNS, topic=topic)
            report(OURS, "follower", FOLLOW, follow(broker.bootstrap, view, count))
        view = make_view("bench.revenue", COLUMNS)
        with served(broker.bootstrap, view) as (server, client):
            asked = (server.url, broker.bootstrap)
            for _ in range(rounds):
                report_times("point read over HTTP", apart(point_reads, *asked, view.name, 3000))
                report_times("read your write", apart(own_writes, *asked, view, 300))
                samples = fan_out(server, client, view, subscriber_count, 50)
                report_times(f"change to {subscriber_count} subscribers", samples)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="less data, one round")
    parser.add_argument("--render", action="store_true", help="write the page from the last JSON")
    parser.add_argument("--subscribe", nargs=4, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.render:
        page.write()
    elif asked.subscribe:
        url, name, count, changes = asked.subscribe
        print(json.dumps(subscribers(url, name, int(count), int(changes))))
    else:
        command = " ".join(["python", "bench/views.py", *sys.argv[1:]])
        found = Results("views", "quick" if asked.quick else "full", command, against="raw store")
        others = OtherPrograms()
        if asked.quick:
            measure(found, count=200_000, rounds=1, subscriber_count=100)
        else:
            measure(found, count=3_000_000, rounds=3, subscriber_count=1000)
        found.notes.append(disturbance(others.cores()))
        found.save(is_whole=not asked.quick)
        print(f"\n{terminal(found.rows())}\n", *found.notes, sep="\n")
        if not asked.quick:
            page.write()


if __name__ == "__main__":
    main()
