"""Real clients over a bad line: they may fail or retry; what they were told is stored is there, once."""

import logging
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from confluent_kafka import Consumer

from fuzz.campaign import seeds
from fuzz.proxied_client import QUIET, RECORDS, TOPIC, value_of
from fuzz.proxy import Harm, Proxy
from headwater.testing import Broker
from rigs.process import free_port

SCENARIOS = {
    "flips": Harm(flip=0.15),
    "cuts": Harm(cut=0.1),
    "repeats": Harm(repeat=0.1),
    "delays and crumbs": Harm(delay=0.2, crumble=0.1),
    "everything": Harm(flip=0.05, cut=0.05, repeat=0.05, delay=0.1, crumble=0.05),
}
TESTS = Path(__file__).parents[1]
DEATHS = (-signal.SIGABRT, -signal.SIGSEGV)
"""How a client in C ends that meets something which it holds to be impossible."""


@pytest.fixture
def proxy() -> Iterator[Proxy]:
    with Proxy(Random(0)) as started:
        yield started


@pytest.fixture
def broker(proxy: Proxy) -> Iterator[Broker]:
    port = free_port()
    proxy.target = ("127.0.0.1", port)
    settings: dict[str, Any] = {"auto_create_topics": False, "max_request_bytes": 4 << 20}
    advertised = f"127.0.0.1:{proxy.port}"
    with Broker(listen=f"127.0.0.1:{port}", advertised=advertised, **settings) as started:
        started.create_topic(TOPIC)
        yield started


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_what_was_acknowledged_is_there_once(
    scenario: str, proxy: Proxy, broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    sent: set[bytes] = set()
    stored: set[bytes] = set()
    for seed in seeds(1):
        proxy._rng.seed(f"{seed} {scenario}")
        proxy.harm = SCENARIOS[scenario]
        sent |= {value_of(seed, number) for number in range(RECORDS)}
        stored |= {value_of(seed, number) for number in acknowledged(broker, proxy, seed)}
    assert proxy.harmed > 0
    errors = [each for each in caplog.records if each.levelno >= logging.ERROR]
    assert not errors, errors[0].exc_text or errors[0].getMessage()

    found = Counter(each.raw_value for each in broker.topic(TOPIC).records(value_format="bytes"))
    assert stored, "nothing came through at all"
    assert stored <= set(found), "an acknowledged record is not there"
    assert set(found) <= sent, "a damaged record was stored"
    assert max(found.values()) == 1, "a record is there twice"
    assert read_through(broker, len(found)) == found


def acknowledged(broker: Broker, proxy: Proxy, seed: int) -> Iterator[int]:
    """The numbers of the records that a client was told to be stored, until it ends or dies."""
    command = [sys.executable, "-m", "fuzz.proxied_client", broker.bootstrap, str(seed)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=TESTS, stdin=pipe, stdout=pipe, text=True) as client:
        assert client.stdin is not None
        assert client.stdout is not None
        for line in client.stdout:
            if line == "sent\n":
                proxy.harm = Harm()
                client.stdin.write("\n")
                client.stdin.flush()
            elif line.endswith("\n"):
                yield int(line)
        proxy.harm = Harm()
    assert client.returncode in (0, *DEATHS), f"the client ended with {client.returncode}"


def read_through(broker: Broker, count: int) -> Counter[bytes]:
    """Read the topic with a client, now that the line is good."""
    consumer = Consumer(
        {
            **QUIET,
            "bootstrap.servers": broker.bootstrap,
            "group.id": "checker",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "check.crcs": True,
        }
    )
    consumer.subscribe([TOPIC])
    found: Counter[bytes] = Counter()
    while found.total() < count:
        for message in consumer.consume(count, timeout=1):
            assert message.error() is None
            found[message.value()] += 1
    consumer.close()
    return found
