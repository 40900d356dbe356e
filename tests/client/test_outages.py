"""A broker that goes away: work that can wait goes on afterwards, the rest fails in time."""

import socket
from collections.abc import Iterator

import pytest

import headwater
from headwater.errors import Unavailable
from rigs.headwater_process import HeadwaterProcess


@pytest.fixture
def broker() -> Iterator[HeadwaterProcess]:
    with HeadwaterProcess({}) as process:
        yield process


def test_a_consumer_without_an_end_goes_on_after_a_restart(broker: HeadwaterProcess) -> None:
    with headwater.connect(broker.bootstrap, timeout_s=20) as client:
        client.admin.topics.create("t", partitions=1)
        client.send("t", "before")
        with client.consumer("t", group="g") as records:
            assert next(records).value == "before"
            broker.kill()
            broker.restart()
            client.send("t", "after")
            assert next(records).value == "after"


def test_a_producer_delivers_what_it_was_given_during_an_outage(broker: HeadwaterProcess) -> None:
    with headwater.connect(broker.bootstrap, timeout_s=30) as client:
        client.admin.topics.create("t", partitions=1)
        with client.producer() as producer:
            producer.send("t", 0).result()
            broker.kill()
            for number in range(1, 100):
                producer.send("t", number)
            broker.restart()
        with client.consumer("t", until="end") as records:
            assert [record.value for record in records] == list(range(100))


@pytest.fixture
def filled(broker: HeadwaterProcess) -> HeadwaterProcess:
    """A broker with one record in topic t, sent without haste: a first send alone takes up to a second."""
    with headwater.connect(broker.bootstrap, timeout_s=30) as client:
        client.admin.topics.create("t", partitions=1)
        client.send("t", 1)
    return broker


def test_calls_fail_within_their_time_limit(filled: HeadwaterProcess) -> None:
    with headwater.connect(filled.bootstrap, timeout_s=1) as client:
        filled.kill()
        for call in (
            lambda: client.send("t", 2),
            client.admin.topics.names,
            client.admin.groups.list,
            client.admin.cluster,
            lambda: client.consumer("t", until="end"),
        ):
            with pytest.raises(Unavailable):
                call()


def test_offsets_cannot_be_looked_up_any_more_once_the_broker_is_gone(
    filled: HeadwaterProcess,
) -> None:
    # librdkafka may lose three seconds if it is asked in the moment in which it gets to know its brokers.
    with headwater.connect(filled.bootstrap, timeout_s=4) as client:
        assert client.admin.topics.ends("t", [0]) == {0: 1}
        filled.kill()
        with pytest.raises(Unavailable):
            client.admin.topics.ends("t", [0])


def test_a_producer_that_was_connected_fails_within_its_time_limit(
    filled: HeadwaterProcess,
) -> None:
    with headwater.connect(filled.bootstrap, timeout_s=5) as client:
        client.send("t", 2)
        filled.kill()
        with pytest.raises(Unavailable):
            client.send("t", 3)


def test_a_bounded_read_does_not_outwait_a_broker_that_is_gone(filled: HeadwaterProcess) -> None:
    with (
        headwater.connect(filled.bootstrap, timeout_s=8) as client,
        client.consumer("t", until=100) as records,
    ):
        assert next(records).value == 1
        filled.kill()
        with pytest.raises(Unavailable):
            next(records)


def test_something_that_does_not_speak_kafka_is_unavailable() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with (
            headwater.connect(f"127.0.0.1:{port}", timeout_s=1) as client,
            pytest.raises(Unavailable),
        ):
            client.admin.topics.names()
