"""The Java client, from Maven, in the scenarios of `java/Scenarios.java`."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from rigs.apache_kafka import kafka_libs
from rigs.maven import compiled
from rigs.process import Unavailable

SOURCE: Final = Path(__file__).parent / "java" / "Scenarios.java"
ASSIGNORS: Final = "org.apache.kafka.clients.consumer."


@pytest.fixture(scope="session")
def java() -> Iterator[subprocess.Popen[str]]:
    """One JVM for all scenarios; the sources are compiled once per version of them."""
    try:
        classpath = compiled(SOURCE, kafka_libs())
    except Unavailable as reason:
        pytest.skip(str(reason))
    with subprocess.Popen(
        ["java", "-XX:TieredStopAtLevel=1", "-cp", classpath, "Scenarios"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        yield process
        process.kill()


@pytest.mark.parametrize(
    "scenario",
    [
        "codec none",
        "codec gzip",
        "codec snappy",
        "codec lz4",
        "codec zstd",
        "record",
        "idempotent",
        "acks 0",
        "acks 1",
        "acks all",
        "too-large",
        f"rebalance {ASSIGNORS}RangeAssignor",
        f"rebalance {ASSIGNORS}StickyAssignor",
        f"rebalance {ASSIGNORS}CooperativeStickyAssignor",
        "cooperative",
        "static-member",
        "commit",
        "seek",
        "times",
        "transactions",
        "transform",
        "zombie",
        "transaction-timeout",
        "admin-transactions",
        "admin-topics",
        "admin-configs",
        "admin-records",
        "admin-groups",
        "admin-cluster",
    ],
)
def test_java_client(java: subprocess.Popen[str], bootstrap: str, name: str, scenario: str):
    assert java.stdin is not None
    assert java.stdout is not None

    java.stdin.write(f"{bootstrap} {name} {scenario}\n")
    java.stdin.flush()
    lines = [line := java.stdout.readline()]
    while line not in {"passed\n", "failed\n", ""}:
        lines.append(line := java.stdout.readline())

    assert lines == ["passed\n"], "".join(lines)
