"""The Java client, from Maven, in the scenarios of `java/Scenarios.java`."""

import hashlib
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

from rigs.apache_kafka import cache_directory, kafka_libs
from rigs.process import Unavailable

SOURCE: Final = Path(__file__).parent / "java" / "Scenarios.java"
ASSIGNORS: Final = "org.apache.kafka.clients.consumer."


@pytest.fixture(scope="session")
def java() -> list[str]:
    """The command that runs a scenario; the sources are compiled once per version of them."""
    try:
        libs = kafka_libs()
    except Unavailable as reason:
        pytest.skip(str(reason))
    if shutil.which("javac") is None:
        pytest.skip("javac is not on PATH")
    version = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
    classes = cache_directory() / "java-scenarios" / version
    if not (classes / "Scenarios.class").exists():
        subprocess.run(
            ["javac", "-Xlint:all", "-cp", f"{libs}/*", "-d", str(classes), str(SOURCE)],
            check=True,
            timeout=120,
        )
    quick_start = ["-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]
    return ["java", *quick_start, "-cp", f"{classes}:{libs}/*", "Scenarios"]


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
        "admin-topics",
        "admin-configs",
        "admin-records",
        "admin-groups",
        "admin-cluster",
    ],
)
def test_java_client(java: list[str], bootstrap: str, name: str, scenario: str):
    action, *option = scenario.split()

    done = subprocess.run(
        [*java, bootstrap, action, name, *option],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )

    assert done.returncode == 0, done.stderr
