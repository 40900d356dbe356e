"""A bulk read while brokers go away: it goes on where it was, or says what is wrong in one sentence."""

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bulk.reading import delete_topic, produce, values, whole
from bulk.relay import Relay
from headwater.bulk.cluster import Cluster
from headwater.bulk.fetcher import fetch_range
from headwater.bulk.ranges import Isolation, OffsetRange
from headwater.bulk.reader import BulkReader
from headwater.bulk.security import Security
from headwater.errors import InvalidRequest, NotFound, NotSupported, Unavailable
from headwater.testing import Broker
from rigs.process import free_port

TOPIC = "orders"


@pytest.fixture
def broker():
    with Broker() as started:
        started.create_topic(TOPIC)
        produce(
            started.bootstrap,
            TOPIC,
            [{"value": b"%04d" % at} for at in range(1000)],
            **{"batch.num.messages": 10},
        )
        yield started


def connected(broker: Broker, **options) -> Cluster:
    return Cluster([("127.0.0.1", broker.port)], **options)


def test_a_killed_broker_is_read_on_when_it_is_back(broker: Broker) -> None:
    with connected(broker) as cluster:
        wanted = whole(cluster, TOPIC)
        offsets = []
        for batches in fetch_range(cluster, wanted, Isolation.READ_COMMITTED, 2000):
            offsets += [header.base_offset for _, header in batches.placed]
            if len(offsets) == 1 or 400 in offsets[-5:]:
                broker.kill()
                restarting = threading.Thread(target=broker.start)
                restarting.start()
        restarting.join()
    assert offsets == list(range(0, 1000, 10))


def test_a_broker_that_stays_away_is_unavailable(broker: Broker) -> None:
    with connected(broker, timeout_s=2) as cluster:
        wanted = whole(cluster, TOPIC)
        broker.kill()
        with pytest.raises(Unavailable, match=f"127.0.0.1:{cluster._endpoints[0][1]}"):
            values(BulkReader(cluster), wanted)


def test_a_topic_deleted_meanwhile_is_not_found(broker: Broker) -> None:
    with connected(broker, timeout_s=2) as cluster:
        wanted = whole(cluster, TOPIC)
        delete_topic(broker.bootstrap, TOPIC)
        with pytest.raises(NotFound, match="does not exist"):
            values(BulkReader(cluster), wanted)


def test_an_end_that_the_log_does_not_have_is_unavailable(broker: Broker) -> None:
    with connected(broker, timeout_s=1) as cluster, pytest.raises(Unavailable, match="1000"):
        values(BulkReader(cluster), OffsetRange(TOPIC, 0, 990, 1001))


def test_the_first_address_that_answers_is_used(broker: Broker) -> None:
    with Cluster([("127.0.0.1", free_port()), ("127.0.0.1", broker.port)]) as cluster:
        assert TOPIC in cluster.topics()


@pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"", b"\0\0"])
def test_what_is_no_broker_is_said_to_be_none(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            accepted, _ = server.accept()
            with accepted:
                accepted.recv(1000)
                accepted.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        cluster = Cluster([server.getsockname()], timeout_s=5)
        with cluster, pytest.raises(Unavailable, match="cannot reach the broker"):
            cluster._topics([])
        thread.join()


def test_a_security_that_we_do_not_speak_is_refused(broker: Broker) -> None:
    with pytest.raises(NotSupported, match="SASL_SSL"):
        connected(broker, security=Security("SASL_SSL")).topics()
    with pytest.raises(InvalidRequest, match="certificates"):
        connected(broker, security=Security("SSL", ssl_ca_location="/no/such.pem")).topics()


@contextmanager
def behind(relay: Relay) -> Iterator[Broker]:
    """A broker that clients know by the relay's address."""
    port = free_port()
    relay.target = ("127.0.0.1", port)
    advertised = f"127.0.0.1:{relay.port}"
    with Broker(listen=f"127.0.0.1:{port}", advertised=advertised) as broker:
        broker.create_topic(TOPIC)
        yield broker


def test_a_broker_that_lost_its_leadership_is_asked_again() -> None:
    with Relay() as relay, behind(relay):
        produce(f"127.0.0.1:{relay.port}", TOPIC, [{"value": b"v"}] * 10)
        with Cluster([("127.0.0.1", relay.port)]) as cluster:
            relay.denials = 2
            assert len(values(BulkReader(cluster), whole(cluster, TOPIC))) == 10
            assert relay.denials == 0


class TestTls:
    @pytest.fixture
    def certificate(self, tmp_path: Path) -> Path:
        """A certificate for 127.0.0.1, signed by itself, with its key in the same file."""
        if shutil.which("openssl") is None:
            pytest.skip("a certificate is made with openssl, which is not on PATH")
        path = tmp_path / "broker.pem"
        subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
        made = ["-newkey", "rsa:2048", "-nodes", "-keyout", str(path), "-out", str(path)]
        subprocess.run(
            ["openssl", "req", "-x509", *made, *subject], check=True, capture_output=True
        )
        return path

    def test_topics_are_read_over_tls(self, certificate: Path) -> None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate)
        with Relay(context) as relay, behind(relay) as broker:
            produce(
                f"127.0.0.1:{relay.port}",
                TOPIC,
                [{"value": b"v"}] * 10,
                **{"security.protocol": "ssl", "ssl.ca.location": str(certificate)},
            )
            security = Security("SSL", ssl_ca_location=str(certificate))
            with Cluster([("127.0.0.1", relay.port)], security) as cluster:
                assert len(values(BulkReader(cluster), whole(cluster, TOPIC))) == 10
            distrusting = Cluster([("127.0.0.1", relay.port)], Security("SSL"), timeout_s=2)
            with distrusting as cluster, pytest.raises(InvalidRequest, match="trusted"):
                cluster.topics()
            assert len(broker.topic(TOPIC)) == 10
