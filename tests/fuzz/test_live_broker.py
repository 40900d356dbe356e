"""Mutated requests over a socket: the broker answers or closes, logs no error, and serves everyone else."""

import logging
import socket
import struct
from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from conformance.batches import batch
from conformance.raw import Connection
from fuzz.campaign import seeds
from fuzz.mutations import mutated
from fuzz.requests import CASES, WAITING, Writer
from headwater.testing import Broker
from headwater.wire.schema import Message

TOPICS = ["fuzz-a", "fuzz-b", "fuzz-compacted"]
PATIENCE_S = 20


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(group_min_session_timeout_ms=1, offsets_retention_minutes=1) as started:
        yield started


class Neighbour:
    """A well-behaved client on a connection of its own: what it stores, it can read back."""

    def __init__(self, broker: Broker) -> None:
        self._connection = Connection(broker.bootstrap, timeout_s=PATIENCE_S)
        self._connection.request(
            "create_topics",
            7,
            topics=[{"name": "neighbour", "num_partitions": 1, "replication_factor": 1}],
            timeout=10_000,
        )

    def is_served(self) -> None:
        value = b"still here"
        data = [{"name": "neighbour", "partition_data": [{"index": 0, "records": batch(value)}]}]
        answer = self._connection.request("produce", 9, acks=-1, timeout=10_000, topic_data=data)
        (stored,) = answer.responses[0].partition_responses
        assert stored.error_code == 0
        wanted = [{"partition": 0, "fetch_offset": stored.base_offset, "partition_max_bytes": 1000}]
        answer = self._connection.request(
            "fetch",
            11,
            max_wait=1000,
            min_bytes=1,
            max_bytes=1000,
            topics=[{"topic": "neighbour", "partitions": wanted}],
        )
        assert value in answer.responses[0].partitions[0].records

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def neighbour(broker: Broker) -> Iterator[Neighbour]:
    made = Neighbour(broker)
    yield made
    made.close()


def known_values(broker: Broker) -> dict[str, list[Any]]:
    """Names and numbers that exist in this broker, by the field that would carry them."""
    with Connection(broker.bootstrap) as connection:
        topics = [{"name": each, "num_partitions": 3, "replication_factor": 1} for each in TOPICS]
        topics[2]["configs"] = [{"name": "cleanup.policy", "value": "compact"}]
        connection.request("create_topics", 7, topics=topics, timeout=10_000)
        found = connection.request("metadata", 12, topics=[{"name": each} for each in TOPICS])
    names = {
        name: [*TOPICS, "fuzz-new"]
        for name in ("name", "topic", "topics", "topic_name", "resource_name")
    }
    return {
        **names,
        "topic_id": [each.topic_id.bytes for each in found.topics],
        "partition": [0, 1, 2, 3],
        "index": [0, 1, 2],
        "partition_index": [0, 1, 2],
        "partition_indexes": [0, 1],
        "group_id": ["fuzz-group", "other"],
        "member_id": ["", "member-1"],
        "group_instance_id": [None, "static-1"],
        "protocol_type": ["consumer"],
        "session_timeout_ms": [1, 50],
        "rebalance_timeout_ms": [1, 50],
        "resource_type": [2, 4],
        "records": [batch(b"value"), batch(b"value", codec=2), batch(b"v", attributes=8)],
        "fetch_offset": [0, 1],
        "partition_max_bytes": [1000, 1 << 20],
        "max_bytes": [1000, 1 << 20],
        "max_wait_ms": [0, 1],
        "acks": [-1, 0, 1],
        "timestamp": [-1, -2, -3, 0, 1 << 40],
        "count": [3, 4],
        "num_partitions": [1, 2],
        "replication_factor": [1, -1],
        "configs": [],
        "config_operation": [0, 1, 2, 3],
        "value": ["compact", "delete", "1000", "", None],
    } | {"session_id": [0], "session_epoch": [-1, 0, 1]}


@pytest.fixture(scope="module")
def known(broker: Broker) -> dict[str, list[Any]]:
    values = known_values(broker)
    del values["configs"]
    return values


API_NAMES = sorted({request.__name__ for request, _ in CASES})


@pytest.mark.parametrize("api", API_NAMES)
def test_mutated_requests_harm_nobody(
    api: str,
    broker: Broker,
    neighbour: Neighbour,
    known: dict[str, list[Any]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    cases = [each for each in CASES if each[0].__name__ == api]
    for seed in seeds(40):
        rng = Random(f"{seed} {api}")
        request, version = rng.choice(cases)
        exchange(broker, mutants(rng, request, version, known), is_waiting=api in WAITING)
        errors = [each for each in caplog.records if each.levelno >= logging.ERROR]
        assert not errors, f"seed {seed} of {api}: {errors[0].getMessage()} {errors[0].exc_text}"
    neighbour.is_served()


def mutants(
    rng: Random, request: type[Message], version: int, known: dict[str, list[Any]]
) -> bytes:
    """A few frames for one connection; the first is often valid, lengths may be wrong."""
    writer = Writer(rng, known)
    out = b""
    chance = rng.choice((0.0, 0.8))  # Valid requests with values of the edge get furthest.
    for index in range(rng.choice((1, 2, 5))):
        frame = writer.frame(request, version, index)
        if rng.random() < chance:
            frame = mutated(rng, frame, start=rng.choice((0, 4, 14)))
        length = len(frame) if rng.random() < 0.9 else rng.choice((0, -1, 5, 2**31 - 1))
        out += struct.pack(">i", length) + frame
    return out


def exchange(broker: Broker, data: bytes, *, is_waiting: bool) -> None:
    """Send, then read until the broker has closed or has answered a last, valid request."""
    host, port = broker.bootstrap.rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
        try:
            connection.sendall(data)
            if is_waiting:
                connection.settimeout(0.02)
            last = struct.pack(">hhih", 18, 0, 0x7EADBEEF, -1)
            connection.sendall(struct.pack(">i", len(last)) + last)
            received = b""
            while b"\x7e\xad\xbe\xef" not in received:
                more = connection.recv(1 << 16)
                if not more:
                    return
                received = received[-3:] + more
        except TimeoutError:
            # The length of a mutant may promise more than was sent; then the broker waits for us.
            return
        except OSError:
            return
