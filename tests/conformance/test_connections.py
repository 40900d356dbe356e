"""Connections: order on one, independence of the others, and what closes one."""

import struct
from typing import Any

import pytest

from conformance.batches import batch, records_of
from conformance.calls import append, fetch, fetch_fields, partition_to_fetch, produce_fields
from conformance.raw import Connection, ErrorCode, encode, header


def still_serves(bootstrap: str) -> bool:
    with Connection(bootstrap) as connection:
        return bool(connection.request("api_versions", 0).error_code == ErrorCode.none)


def test_pipelined_requests_are_answered_in_order(connection: Connection, topic: str):
    for _ in range(50):
        connection.send("metadata", 12, topics=[{"name": topic}])
        connection.send("api_versions", 0)

    answers = [connection.receive() for _ in range(100)]

    assert all(answer.topics[0].name == topic for answer in answers[::2])
    assert all(answer.api_keys for answer in answers[1::2])


def test_pipelined_produce_keeps_its_order(connection: Connection, topic: str):
    for index in range(50):
        connection.send("produce", 9, **produce_fields(topic, batch(b"%d" % index)))

    offsets = [connection.receive().responses[0].partition_responses[0] for _ in range(50)]

    assert [answer.base_offset for answer in offsets] == list(range(50))
    stored = records_of(fetch(connection, topic, 0).records)
    assert [record.value for record in stored] == [b"%d" % index for index in range(50)]


def test_request_behind_a_waiting_fetch_waits_its_turn(connection: Connection, topic: str):
    connection.send(
        "fetch", 12, **fetch_fields(partition_to_fetch(topic, 0), max_wait=300, min_bytes=1)
    )
    connection.send("api_versions", 0)

    first, second = connection.receive(), connection.receive()

    assert first.responses[0].partitions[0].records == b""
    assert second.api_keys


def test_waiting_fetch_does_not_hold_up_other_connections(connect: Any, topic: str):
    waiting, other = connect(), connect()
    waiting.send(
        "fetch", 12, **fetch_fields(partition_to_fetch(topic, 0), max_wait=20_000, min_bytes=1)
    )

    append(other, topic, batch(b"a"))

    assert waiting.receive().responses[0].partitions[0].records


@pytest.mark.parametrize("version", [14, 99, -1])
def test_version_that_is_not_advertised_closes_the_connection(bootstrap: str, version: int):
    with Connection(bootstrap) as connection:
        connection.send_bytes(header(3, version) + bytes(8))

        assert connection.is_closed_by_broker()
    assert still_serves(bootstrap)


@pytest.mark.parametrize("api_key", [999, -5])
def test_unknown_api_closes_the_connection(bootstrap: str, api_key: int):
    with Connection(bootstrap) as connection:
        connection.send_bytes(header(api_key, 0))

        assert connection.is_closed_by_broker()
    assert still_serves(bootstrap)


def test_truncated_request_closes_the_connection(bootstrap: str):
    with Connection(bootstrap) as connection:
        request = encode("metadata", 12, 1, {"topics": [{"name": "some-topic"}]})
        connection.send_bytes(request[:-6])

        assert connection.is_closed_by_broker()
    assert still_serves(bootstrap)


def test_array_longer_than_its_request_closes_the_connection(bootstrap: str):
    with Connection(bootstrap) as connection:
        connection.send_bytes(header(3, 1) + struct.pack(">i", 2**31 - 1))

        assert connection.is_closed_by_broker()
    assert still_serves(bootstrap)


@pytest.mark.parametrize("length", [-1, 2**31 - 1, 0x47455420])
def test_impossible_length_closes_the_connection(bootstrap: str, length: int):
    # 0x47455420 is "GET ", what a web browser would send.
    with Connection(bootstrap) as connection:
        connection.send_unframed(struct.pack(">i", length) + bytes(64))

        assert connection.is_closed_by_broker()
    assert still_serves(bootstrap)


def test_empty_frame_closes_the_connection(bootstrap: str):
    with Connection(bootstrap) as connection:
        connection.send_bytes(b"")

        assert connection.is_closed_by_broker()
    assert still_serves(bootstrap)


def test_malformed_request_does_not_touch_other_connections(bootstrap: str, connection: Connection):
    with Connection(bootstrap) as broken:
        broken.send_bytes(b"\x00\x03\x00\x0cgarbage")
        assert broken.is_closed_by_broker()

    assert connection.request("api_versions", 0).error_code == ErrorCode.none


def test_request_in_pieces_is_put_together(connection: Connection):
    request = encode("api_versions", 0, 1, {})
    frame = struct.pack(">i", len(request)) + request

    for position in range(len(frame)):
        connection.send_unframed(frame[position : position + 1])

    assert connection.receive_bytes()[:4] == struct.pack(">i", 1)


def test_bytes_after_the_end_of_a_request_are_ignored(connection: Connection, topic: str):
    request = encode("metadata", 1, 1, {"topics": [{"name": topic}]})
    connection.send_bytes(request + b"\x00\x00\x00")

    assert connection.receive_bytes()[:4] == struct.pack(">i", 1)


def test_client_id_may_be_null_empty_long_or_no_text(connection: Connection):
    for client_id in (
        b"\xff\xff",
        b"\x00\x00",
        struct.pack(">h", 300) + b"x" * 300,
        b"\x00\x02\xff\xfe",
    ):
        connection.send_bytes(struct.pack(">hhi", 18, 0, 5) + client_id)
        assert connection.receive_bytes()[:4] == struct.pack(">i", 5)
