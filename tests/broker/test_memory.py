"""The memory of a broker process under clients that take what they can: it stays flat."""

import platform
import socket
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from broker.calls import fetch_data
from conformance.batches import batch
from conformance.raw import Connection, encode
from rigs.headwater_process import HeadwaterProcess

MiB = 1 << 20


def fill(process: HeadwaterProcess, count: int) -> None:
    """Write so many batches of about 1 MiB to the 8 partitions of a topic."""
    with Connection(process.bootstrap) as connection:
        connection.request(
            "metadata", 9, topics=[{"name": "large"}], allow_auto_topic_creation=True
        )
        body = batch(bytes(MiB - 1000))
        for number in range(count):
            data = [{"name": "large", "partition_data": [{"index": number % 8, "records": body}]}]
            answer = connection.request("produce", 9, acks=-1, timeout=30_000, topic_data=data)
            assert answer.responses[0].partition_responses[0].error_code == 0


@pytest.fixture(scope="module")
def process() -> Iterator[HeadwaterProcess]:
    with HeadwaterProcess({"num_partitions": "8"}) as started:
        fill(started, 96)
        yield started


def await_long_answers(process: HeadwaterProcess, partitions: int, least: int) -> None:
    """They are short for a moment after a sync, and where the machine has taken pages from its cache."""
    with Connection(process.bootstrap) as connection:
        for number in range(partitions):
            asked = fetch_data("large", partition=number)
            while _records_bytes(connection.request("fetch", 11, **asked)) < least:
                pass


def slow_socket(process: HeadwaterProcess) -> socket.socket:
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.settimeout(60)
    client.connect(("127.0.0.1", process.port))
    return client


def test_fifty_slow_readers_share_a_fixed_amount_of_memory(process: HeadwaterProcess) -> None:
    await_long_answers(process, partitions=8, least=2 * MiB)
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


@pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="only glibc can be told to keep memory"
)
def test_answers_are_read_into_memory_that_earlier_ones_used() -> None:
    asked = fetch_data("large", max_bytes=4 * MiB, partition_max_bytes=MiB)
    (topic,) = asked["topics"]
    topic["partitions"] = [{**topic["partitions"][0], "partition": each} for each in range(4)]
    # A process of its own: larger answers would have taught the allocator to keep more.
    with HeadwaterProcess({"num_partitions": "8"}) as process:
        fill(process, 8)
        with Connection(process.bootstrap) as connection:
            while _records_bytes(connection.request("fetch", 11, **asked)) < 3 * MiB:
                pass  # Answers are short for a moment after a sync.
            before = process.process.page_faults()
            answers = [connection.request("fetch", 11, **asked) for _ in range(20)]
            faults = process.process.page_faults() - before
    pages = _records_bytes(answers[0]) // 4096
    assert pages > 900
    assert faults < 20 * pages / 4, f"{faults} pages were faulted in for {20 * pages}"


def _records_bytes(response: Any) -> int:
    return sum(len(each.records) for each in response.responses[0].partitions)
