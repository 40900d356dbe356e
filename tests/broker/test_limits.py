"""What one connection may ask for, and that it is the only one to pay for asking more."""

import socket
import struct
import threading
from collections.abc import Iterator

import pytest

from broker.calls import LONG_MS, create_topic, fetch_data, produce, produce_data, wait_until
from conformance.batches import batch, decode
from conformance.raw import Connection, header
from headwater.broker.connection import MOST_PENDING_FRAMES
from headwater.broker.outbox import WRITE_BUFFER_BYTES
from headwater.testing import Broker


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker(max_request_bytes=1 << 20) as started:
        create_topic(started, "orders", partitions=4)
        yield started


def is_served(connection: Connection) -> bool:
    return connection.request("api_versions", 0).error_code == 0


@pytest.mark.parametrize("length", [0, -1, -(2**31), 2**31 - 1, (1 << 20) + 1])
def test_a_wrong_length_closes_that_connection_and_no_other(broker: Broker, length: int) -> None:
    with Connection(broker.bootstrap) as good, Connection(broker.bootstrap) as bad:
        assert is_served(good)
        bad.send_unframed(struct.pack(">i", length))
        assert bad.is_closed_by_broker()
        assert is_served(good)


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x00",
        header(999, 0),
        header(-1, 0),
        header(3, 99),
        header(3, -1),
        struct.pack(">hhih", 3, 1, 1, 32_000),
        struct.pack(">hhih", 3, 9, 1, -1) + b"\xff" * 20,
        b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)
def test_what_is_no_request_closes_that_connection(broker: Broker, request_bytes: bytes) -> None:
    with Connection(broker.bootstrap) as bad:
        bad.send_bytes(request_bytes)
        assert bad.is_closed_by_broker()


def test_http_and_tls_on_the_kafka_port_close_the_connection(broker: Broker) -> None:
    for opening in (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"):
        with Connection(broker.bootstrap) as stranger:
            stranger.send_unframed(opening)
            assert stranger.is_closed_by_broker()


def test_a_request_of_the_largest_size_is_served(broker: Broker) -> None:
    overhead = 200
    value = bytes((1 << 20) - overhead)
    with Connection(broker.bootstrap) as connection:
        assert produce(connection, "orders", batch(value)).error_code == 0


def test_connections_over_the_limit_are_closed_and_room_is_made_again() -> None:
    with Broker(max_connections=2) as broker:
        first, second = Connection(broker.bootstrap), Connection(broker.bootstrap)
        assert is_served(first)
        assert is_served(second)
        with Connection(broker.bootstrap) as third:
            assert third.is_closed_by_broker()
        assert broker.embedded.traffic.refused_connections == 1
        second.close()
        wait_until(broker, lambda: broker.embedded.traffic.connections == 1)
        with Connection(broker.bootstrap) as fourth:
            assert is_served(fourth)
        first.close()


def test_an_idle_connection_is_closed_and_one_that_waits_for_an_answer_is_not() -> None:
    with Broker(max_idle_ms=60) as broker:
        create_topic(broker, "quiet")
        with Connection(broker.bootstrap) as waiting, Connection(broker.bootstrap) as idle:
            waiting.send("fetch", 11, **fetch_data("quiet", max_wait=500))
            assert idle.is_closed_by_broker()
            assert waiting.receive().error_code == 0
            assert waiting.is_closed_by_broker()


def test_half_a_frame_and_silence_is_closed_as_idle() -> None:
    with Broker(max_idle_ms=60) as broker, Connection(broker.bootstrap) as connection:
        connection.send_unframed(struct.pack(">i", 1000) + b"half")
        assert connection.is_closed_by_broker()


def test_requests_without_reading_answers_stop_being_read(broker: Broker) -> None:
    """Thousands of requests with tens of MB of answers: the broker holds little of either."""
    server = broker._server
    assert server is not None
    host, port = broker.bootstrap.rsplit(":", 1)
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect((host, int(port)))
        requests = [describe_broker(number) for number in range(2500)]
        sender = threading.Thread(target=client.sendall, args=(b"".join(requests),))
        sender.start()
        wait_until(broker, lambda: any(each._is_read_paused for each in server._connections))
        (connection,) = [each for each in server._connections if each._is_read_paused]
        assert broker.embedded.traffic.outstanding_bytes < 4 * WRITE_BUFFER_BYTES
        assert len(connection._pending) >= MOST_PENDING_FRAMES
        stream = client.makefile("rb")
        for number in range(2500):
            (size,) = struct.unpack(">i", stream.read(4))
            answer = stream.read(size)
            assert struct.unpack(">i", answer[:4]) == (number,)
        stream.close()
        sender.join()
    wait_until(broker, lambda: broker.embedded.traffic.outstanding_bytes == 0)


def describe_broker(correlation_id: int) -> bytes:
    """DescribeConfigs version 3 of broker 1, with everything: an answer of some ten kilobytes."""
    resource = struct.pack(">ib", 1, 4) + struct.pack(">h", 1) + b"1" + struct.pack(">i", -1)
    body = struct.pack(">hhih", 32, 3, correlation_id, -1) + resource + b"\x01\x01"
    return struct.pack(">i", len(body)) + body


def test_answers_come_in_order_under_pipelining(broker: Broker) -> None:
    with Connection(broker.bootstrap) as connection:
        sent = []
        for number in range(200):
            match number % 5:
                case 0 | 1 | 2:
                    data = produce_data("orders", batch(b"%d" % number), number % 4)
                    sent.append(connection.send("produce", 9, **data))
                case 3:
                    sent.append(connection.send("metadata", 9, topics=[{"name": "orders"}]))
                case 4:
                    sent.append(connection.send("fetch", 11, **fetch_data("orders", 0)))
        for _ in sent:
            connection.receive()  # Asserts the correlation id.


def test_produce_without_an_answer_does_not_shift_the_answers_of_others(broker: Broker) -> None:
    create_topic(broker, "fire-and-forget")
    with Connection(broker.bootstrap) as connection:
        for number in range(50):
            unanswered = produce_data("fire-and-forget", batch(b"%d" % number), acks=0)
            connection.send_without_reply("produce", 9, **unanswered)
            if number % 3 == 0:
                answered = produce_data("fire-and-forget", batch(b"%d" % number))
                connection.send("produce", 9, **answered)
            if number % 7 == 0:
                connection.send("metadata", 9, topics=[{"name": "orders"}])
        for number in range(50):
            if number % 3 == 0:
                answer = connection.receive().responses[0].partition_responses[0]
                assert answer.error_code == 0
            if number % 7 == 0:
                connection.receive()
        last = produce(connection, "fire-and-forget", batch(b"last"))
        assert last.base_offset == 50 + 17


def test_a_fetch_takes_no_more_than_it_asks_for_but_at_least_one_batch(broker: Broker) -> None:
    create_topic(broker, "sized", partitions=2)
    with Connection(broker.bootstrap) as connection:
        size = len(batch(bytes(1000)))
        for partition in (0, 1):
            for _ in range(10):
                produce(connection, "sized", batch(bytes(1000)), partition)
        partitions = [
            {
                "partition": each,
                "fetch_offset": 0,
                "partition_max_bytes": 3 * size,
                "current_leader_epoch": -1,
            }
            for each in (0, 1)
        ]

        def sizes(max_bytes: int) -> list[int]:
            answer = connection.request(
                "fetch",
                11,
                max_wait=LONG_MS,
                min_bytes=1,
                max_bytes=max_bytes,
                session_epoch=-1,
                topics=[{"topic": "sized", "partitions": partitions}],
            )
            return [len(decode(each.records)) for each in answer.responses[0].partitions]

        assert sizes(100 * size) == [3, 3]
        assert sizes(4 * size) == [3, 1]
        assert sizes(2 * size + 1) == [2, 0]
        assert sizes(1) == [1, 0]
        partitions[0]["partition_max_bytes"] = 1
        assert sizes(100 * size) == [1, 3]


def test_two_requests_of_one_fetch_session_at_once_harm_nobody(
    broker: Broker, caplog: pytest.LogCaptureFixture
) -> None:
    create_topic(broker, "shared", partitions=2)
    partition = broker.embedded.topics.get("shared").partitions[0]
    wanted = [
        {
            "partition": each,
            "fetch_offset": 0,
            "partition_max_bytes": 1000,
            "current_leader_epoch": -1,
        }
        for each in (0, 1)
    ]
    full = {"min_bytes": 1, "max_bytes": 1000, "max_wait": 0}
    with Connection(broker.bootstrap) as first, Connection(broker.bootstrap) as second:
        session = first.request(
            "fetch",
            11,
            **full,
            session_epoch=0,
            topics=[{"topic": "shared", "partitions": wanted}],
        ).session_id
        assert session
        later = {**full, "session_id": session, "max_wait": LONG_MS}
        first.send("fetch", 11, **later, session_epoch=1)
        wait_until(broker, lambda: partition.has_waiting_readers)
        forgotten = [{"topic": "shared", "partitions": [0, 1]}]
        second.request("fetch", 11, **later, session_epoch=2, forgotten_topics_data=forgotten)
        produce(second, "shared", batch(b"news"))
        assert first.receive().error_code == 0
    assert not [each for each in caplog.records if each.levelname == "ERROR"]
