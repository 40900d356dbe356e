"""What is measured of a broker, one function per family; a broker is a running rig."""

import os
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Final

import load
from runs import Report, Sides
from watch import (
    Cpu,
    apart,
    broker_cpu,
    drop_page_cache,
    let_disk_settle,
    peak_memory,
    percentile,
)

from conformance.batches import batch
from conformance.calls import create_topic, produce
from conformance.raw import Connection, ErrorCode
from rigs.brokers import Broker

SHAPES: Final = ((100, 1), (100, 8), (1024, 1), (1024, 8))
TOPICS_PER_REQUEST: Final = 100


@dataclass(frozen=True)
class Scale:
    """How much is written and for how long: the short form is for a look, not for the record."""

    rounds: int
    looks: int
    starts: int
    bytes_per_shape: int
    latency_seconds: float
    backlog_bytes: int
    topics: int


FULL: Final = Scale(
    rounds=3,
    looks=9,
    starts=5,
    bytes_per_shape=400_000_000,
    latency_seconds=10,
    backlog_bytes=5_000_000_000,
    topics=1000,
)
QUICK: Final = Scale(
    rounds=1,
    looks=3,
    starts=3,
    bytes_per_shape=100_000_000,
    latency_seconds=5,
    backlog_bytes=500_000_000,
    topics=200,
)


def label(size_bytes: int, partitions: int) -> str:
    size = "1 KiB" if size_bytes == 1024 else f"{size_bytes} B"
    return f"{size}, {partitions} partition{'s' if partitions > 1 else ''}"


def start(new_broker: Callable[[], Broker], report: Report) -> None:
    """A new process on an empty directory, until its first record is acknowledged; then idle."""
    with new_broker() as broker:
        began = time.monotonic()
        with Connection(broker.bootstrap) as connection:
            create_topic(connection, "first")
            answer = produce(connection, "first", batch(b"record"), acks=-1)
        assert answer.error_code == ErrorCode.none, answer
        report("start to first record", broker.start_seconds + time.monotonic() - began)
        # Nothing happens now on purpose: memory is to settle.
        time.sleep(2)
        report("memory idle", broker.process.resident_bytes() / 1e6)


def throughput(sides: Sides, scale: Scale) -> None:
    for size_bytes, partitions in SHAPES:
        topic = f"throughput-{size_bytes}-{partitions}"
        # A small record costs the client as much as a large one: the same time, fewer bytes.
        wanted = scale.bytes_per_shape if size_bytes > 100 else scale.bytes_per_shape // 4
        records = wanted // size_bytes // load.CHUNK * load.CHUNK
        shape = label(size_bytes, partitions)
        for broker, report in sides:
            load.create_topic(broker.bootstrap, topic, partitions)
            with broker_cpu(broker) as cpu:
                written = apart(load.produce, broker.bootstrap, topic, records, size_bytes)
            report_throughput(report, f"produce {shape}", written, cpu)
            # What one broker has left in the page cache must not reach the disk in the other's turn.
            os.sync()
        # Reading is over within a second: one look would show more of the machine than of the brokers.
        for look in range(scale.looks):
            for broker, report in sides[:: 1 if look % 2 else -1]:
                with broker_cpu(broker) as cpu:
                    read = apart(load.consume, broker.bootstrap, topic, partitions, size_bytes)
                report_throughput(report, f"consume {shape}", read, cpu)
        for broker, _ in sides:
            load.delete_topic(broker.bootstrap, topic)


def report_throughput(report: Report, name: str, measured: load.Throughput, cpu: Cpu) -> None:
    """A rate, and the processor time that client and broker took for it."""
    report(name, measured.mb_per_second)
    report(f"{name}: client cores", measured.client_cpu_seconds / measured.seconds)
    report(f"{name}: broker cores", cpu.seconds / measured.seconds)


def latency(sides: Sides, scale: Scale) -> None:
    for broker, report in sides:
        samples = apart(
            load.latencies_ms, broker.bootstrap, "latency", 1024, 1000, scale.latency_seconds
        )
        report("latency p50", percentile(samples, 50))
        report("latency p99", percentile(samples, 99))


def catch_up(sides: Sides, scale: Scale) -> None:
    """A producer at a fixed rate, alone and then beside a consumer that reads a backlog.

    Warm: the backlog is in the page cache, as after minutes. Cold: it is on disk only, as after days.
    """
    records = scale.backlog_bytes // 1024 // load.CHUNK * load.CHUNK
    for broker, _ in sides:
        load.create_topic(broker.bootstrap, "backlog", 8)
        load.create_topic(broker.bootstrap, "live", 1)
        apart(load.produce, broker.bootstrap, "backlog", records, 1024)
    for backlog in ("warm", "cold"):
        for _ in range(scale.rounds):
            for broker, report in sides:
                os.sync()
                if backlog == "cold":
                    drop_page_cache(broker.directory)
                let_disk_settle(broker.directory)
                _catch_up_once(broker, report, f"{backlog} catch-up", scale)


def _catch_up_once(broker: Broker, report: Report, name: str, scale: Scale) -> None:
    live = (broker.bootstrap, "live", 1024, 1000)
    alone = apart(load.latencies_ms, *live, scale.latency_seconds)
    before = broker.process.resident_bytes()
    beside: list[float] = []
    with peak_memory(broker) as peak, ProcessPoolExecutor(2, get_context("spawn")) as pool:
        reading = pool.submit(load.consume, broker.bootstrap, "backlog", 8, 1024)
        while not reading.done():
            beside += pool.submit(load.latencies_ms, *live, 1).result()
    report(f"{name}: rate", reading.result().mb_per_second)
    report(f"{name}: p99 of a producer alone", percentile(alone, 99))
    report(f"{name}: p99 of a producer beside it", percentile(beside, 99))
    report(f"{name}: p99 grows by", percentile(beside, 99) / percentile(alone, 99))
    report(f"{name}: memory before", before / 1e6)
    report(f"{name}: memory peak", peak.bytes / 1e6)


def restart(broker: Broker, report: Report, scale: Scale) -> None:
    """Stop cleanly and start again with many partitions on disk."""
    with Connection(broker.bootstrap, timeout_s=300) as connection:
        for first in range(0, scale.topics, TOPICS_PER_REQUEST):
            topics = [
                {"name": f"many-{index}", "num_partitions": 8, "replication_factor": 1}
                for index in range(first, first + TOPICS_PER_REQUEST)
            ]
            response = connection.request("create_topics", 7, topics=topics, timeout=120_000)
            assert all(topic.error_code == ErrorCode.none for topic in response.topics)
    broker.restart()
    report(f"restart with {scale.topics} topics x 8 partitions", broker.start_seconds)


def warm_up(broker: Broker) -> None:
    """The JVM compiles while it serves; nobody measures that on purpose."""
    load.create_topic(broker.bootstrap, "warm-up", 8)
    for _ in range(2):
        apart(load.produce, broker.bootstrap, "warm-up", 50_000, 1024)
        apart(load.consume, broker.bootstrap, "warm-up", 8, 1024)
    load.create_topic(broker.bootstrap, "latency", 1)
    apart(load.latencies_ms, broker.bootstrap, "latency", 1024, 1000, 2)
