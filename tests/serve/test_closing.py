"""Closing a subscription from another thread ends its iteration, whatever it is doing just then."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import headwater
from headwater.client import Client
from headwater.client.view_subscription import Subscription
from headwater.errors import HeadwaterError
from headwater.testing import Broker
from rigs.changelog import Changelog, make_view, revenue
from rigs.view_process import ViewProcess

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"


class Reader(threading.Thread):
    def __init__(self, changes: Subscription) -> None:
        super().__init__(daemon=True)
        self.changes = changes
        self.has_read = threading.Event()
        self.failure: Exception | None = None

    def run(self) -> None:
        try:
            for _ in self.changes:
                self.has_read.set()
        except Exception as error:  # noqa: BLE001 - it is what the test asks for
            self.failure = error

    def has_ended(self) -> bool:
        self.join(30)
        return not self.is_alive() and self.failure is None


@contextmanager
def reading(tmp_path: Path) -> Iterator[tuple[Reader, ViewProcess]]:
    """A reader that has read from a real server."""
    with (
        Broker() as broker,
        ViewProcess(broker.bootstrap, tmp_path / "views") as server,
        headwater.connect(broker.bootstrap, views=server.url, timeout_s=60) as client,
    ):
        view = make_view("shop.revenue")
        broker.create_topic(view.topic, cleanup_policy="compact")
        client.admin.views.define(view)
        Changelog(client, view).put(revenue(1))
        while not is_served(client, view.name):
            pass
        reader = Reader(client.view(view.name).subscribe())
        reader.start()
        assert reader.has_read.wait(30)
        yield reader, server


def is_served(client: Client, name: str) -> bool:
    try:
        return len(list(client.view(name).rows())) > 0
    except HeadwaterError:
        return False


def test_a_reader_that_waits_for_changes_ends(tmp_path: Path) -> None:
    with reading(tmp_path) as (reader, _):
        reader.changes.close()
        assert reader.has_ended()


def test_a_reader_that_cannot_reach_the_server_ends(tmp_path: Path) -> None:
    with reading(tmp_path) as (reader, server):
        server.kill()
        reader.changes.close()
        assert reader.has_ended()


def test_a_reader_whose_connection_is_being_made_ends(tmp_path: Path) -> None:
    """The stream that comes after the close is one that nobody else knows of."""
    with reading(tmp_path) as (reader, server):
        server.kill()
        host, port = server.http.split(":")
        with socket.create_server((host, int(port))) as listening:
            accepted, _ = listening.accept()
            with accepted:
                assert accepted.recv(4).startswith(b"GET")
                reader.changes.close()
                accepted.sendall(ANSWER)
                assert reader.has_ended()
