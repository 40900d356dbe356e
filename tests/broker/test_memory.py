"""The memory of a broker process under clients that take what they can: it stays flat."""

import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from broker.calls import fetch_data
from conformance.batches import batch
from conformance.raw import Connection, encode
from rigs.headwater_process import HeadwaterProcess

MiB = 1 << 20


@pytest.fixture(scope="module")
def process() -> Iterator[HeadwaterProcess]:
    with HeadwaterProcess({"num_partitions": "8"}) as started:
        with Connection(started.bootstrap) as connection:
            connection.request(
                "metadata", 9, topics=[{"name": "large"}], allow_auto_topic_creation=True
            )
            body = batch(bytes(MiB - 1000))
            for number in range(96):
                data = [
                    {"name": "large", "partition_data": [{"index": number % 8, "records": body}]}
                ]
                answer = connection.request("produce", 9, acks=-1, timeout=30_000, topic_data=data)
                assert answer.responses[0].partition_responses[0].error_code == 0
        yield started


def slow_socket(process: HeadwaterProcess) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(60)
    client.connect(("127.0.0.1", process.port))
    return client


def test_fifty_slow_readers_share_a_fixed_amount_of_memory(process: HeadwaterProcess) -> None:
    before = process.process.resident_bytes()
    with ExitStack() as stack:
        readers = [stack.enter_context(slow_socket(process)) for _ in range(50)]
        for number, reader in enumerate(readers):
            wanted = fetch_data("large", partition=number % 8)
            request = encode("fetch", 11, 1, wanted)
            reader.sendall(struct.pack(">i", len(request)) + request)
        announced = [
            struct.unpack(">i", reader.recv(4, socket.MSG_WAITALL))[0] for reader in readers
        ]
        assert sum(announced) > 60 * MiB
        grown = process.process.resident_bytes() - before
        assert grown < 64 * MiB + 50 * 2 * MiB, f"grew by {grown / MiB:.0f} MiB"
        served_beside_them(process)


def served_beside_them(process: HeadwaterProcess) -> None:
    with Connection(process.bootstrap) as connection:
        for number in range(50):
            data = [
                {
                    "name": "large",
                    "partition_data": [{"index": 0, "records": batch(b"%d" % number)}],
                }
            ]
            answer = connection.request("produce", 9, acks=-1, timeout=1000, topic_data=data)
            assert answer.responses[0].partition_responses[0].error_code == 0


def test_unfinished_requests_hold_what_was_sent(process: HeadwaterProcess) -> None:
    before = process.process.resident_bytes()
    with ExitStack() as stack:
        for _ in range(300):
            client = stack.enter_context(slow_socket(process))
            client.sendall(struct.pack(">ih", 90 * MiB, 0) + bytes(1000))
        served_beside_them(process)
        grown = process.process.resident_bytes() - before
        assert grown < 300 * 256 * 1024, f"grew by {grown / MiB:.0f} MiB"


def test_idle_connections_cost_little(process: HeadwaterProcess) -> None:
    before = process.process.resident_bytes()
    with ExitStack() as stack:
        for _ in range(500):
            client = stack.enter_context(slow_socket(process))
            request = struct.pack(">hhih", 18, 0, 1, -1)
            client.sendall(struct.pack(">i", len(request)) + request)
            assert client.recv(4, socket.MSG_WAITALL)
        grown = process.process.resident_bytes() - before
        assert grown < 500 * 24 * 1024, f"grew by {grown / MiB:.0f} MiB"
