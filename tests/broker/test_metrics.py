"""Metrics over HTTP, in the text format that Prometheus reads."""

import re
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import suppress

import pytest

from broker.calls import create_topic, produce
from conformance.batches import batch
from conformance.raw import Connection
from headwater.broker.metrics import MetricsServer, render
from headwater.errors import Unavailable
from headwater.testing import Broker
from rigs.process import free_port

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (-?[0-9.e+-]+|NaN|[+-]Inf)")


def parsed(text: str) -> dict[str, dict[str, float]]:
    """Return samples by metric and labels; fails on anything the format does not allow."""
    assert text.endswith("\n")
    types: dict[str, str] = {}
    samples: dict[str, dict[str, float]] = {}
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name = line.split()[2]
            assert name not in types
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert kind in ("counter", "gauge")
            assert (kind == "counter") == name.endswith("_total"), name
            types[name] = kind
        else:
            match = SAMPLE.fullmatch(line)
            assert match, line
            name, labels, value = match.groups()
            assert name in types
            assert (labels or "") not in samples.setdefault(name, {})
            samples[name][labels or ""] = float(value)
    return samples


@pytest.fixture
def address(broker: Broker) -> Iterator[str]:
    found = f"127.0.0.1:{free_port()}"
    server = MetricsServer(broker.embedded)
    broker.call(server.start, found)
    yield found
    broker.call(server.stop)


def test_what_happened_can_be_read(broker: Broker, address: str) -> None:
    create_topic(broker, "orders")
    with Connection(broker.bootstrap) as connection:
        produce(connection, "orders", batch(b"1", b"2"))
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            samples = parsed(answer.read().decode())
    assert samples["headwater_connections"][""] == 1
    assert samples["headwater_requests_total"]['api="Produce"'] == 1
    place = 'topic="orders",partition="0"'
    assert samples["headwater_log_end_offset"][place] == 2
    assert samples["headwater_log_high_watermark"][place] == 2
    assert samples["headwater_log_last_stable_offset"][place] == 2
    assert samples["headwater_transactions_ongoing"][""] == 0
    assert samples["headwater_log_size_bytes"][place] > 0
    assert samples["headwater_log_failed"][place] == 0
    assert samples["headwater_received_bytes_total"][""] > 0
    assert samples["headwater_topics"][""] == 3


def test_an_idle_broker_renders_too(broker: Broker) -> None:
    assert parsed(render(broker.embedded))["headwater_connections"][""] == 0


def test_other_paths_are_not_found(address: str) -> None:
    with pytest.raises(urllib.error.HTTPError, match="404") as raised:
        urllib.request.urlopen(f"http://{address}/", timeout=30)
    raised.value.close()


@pytest.mark.parametrize("noise", [b"", b"\x00\x00\x00\x05hello", b"x" * 200_000])
def test_noise_on_the_port_harms_nobody(address: str, noise: bytes) -> None:
    host, port = address.rsplit(":", 1)
    client = socket.create_connection((host, int(port)), timeout=30)
    # It hangs up at once: which of our calls finds that out is a matter of time.
    with client, suppress(OSError):
        client.sendall(noise)
        client.shutdown(socket.SHUT_WR)
        assert client.recv(100) == b""
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as answer:
        assert answer.status == 200


def test_a_taken_port_is_one_clear_error(broker: Broker, address: str) -> None:
    with pytest.raises(Unavailable, match=f"cannot serve metrics on {address}"):
        broker.call(MetricsServer(broker.embedded).start, address)
