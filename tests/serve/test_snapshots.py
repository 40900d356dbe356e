"""Files of snapshots: shared by those who read them at the same time, gone with the last of them."""

import http.client
from collections.abc import Iterator
from pathlib import Path

import pytest

import headwater
from headwater.serve import subscription
from headwater.testing import Broker, ViewServer
from rigs.changelog import Changelog, revenue
from serve.conftest import Changelogs, Http
from serve.sse import Stream

ROWS = 4000
"""Of a kilobyte: more than the buffers of sockets hold."""


def kept_files(server: ViewServer) -> int:
    """How many files without a name this process holds open in the directory of a server."""
    files = [str(each.readlink()) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
    return sum(each.startswith(f"{server.data}/#") for each in files)


@pytest.fixture
def large(new_changelog: Changelogs) -> Changelog:
    changelog = new_changelog(partitions=1)
    for number in range(ROWS):
        changelog.start_put(revenue(number, name="x" * 1000))
    changelog.wait_until_served()
    return changelog


@pytest.fixture
def own_server(broker: Broker, large: Changelog) -> Iterator[ViewServer]:
    with ViewServer(broker.bootstrap) as server:
        while Http(server.url).get(f"/views/{large.view.name}")[1].get("rows") != ROWS:
            pass
        yield server


def slow(server: ViewServer, changelog: Changelog, **options: str) -> Stream:
    """A subscriber that has begun to read its snapshot."""
    path = f"/views/{changelog.view.name}/subscribe"
    stream = Stream(server.url.removeprefix("http://"), path, receive_bytes=4096, **options)
    assert stream.read(1)[0].kind == "snapshot"
    return stream


def test_the_files_of_subscribers_that_have_left_do_not_stay(
    own_server: ViewServer, large: Changelog
) -> None:
    for number in range(5):
        slow(own_server, large, where=f"customer >= {number}").close()
    with slow(own_server, large) as first, slow(own_server, large) as second:
        while kept_files(own_server) > 1:
            pass
        assert kept_files(own_server) == 1
        found = [next(iter(each)).kind for each in (first, second) for _ in range(ROWS)]
        assert found.count("snapshot") == 2 * (ROWS - 1)
    while kept_files(own_server):
        pass


def test_a_snapshot_that_was_too_large_does_not_stay(broker: Broker, large: Changelog) -> None:
    with ViewServer(broker.bootstrap, max_snapshot_bytes=1_000_000) as server:
        while Http(server.url).get(f"/views/{large.view.name}")[1].get("rows") != ROWS:
            pass
        path = f"/views/{large.view.name}/subscribe"
        with Stream(server.url.removeprefix("http://"), path) as events:
            (failed,) = events.read(1)
            assert failed.data["kind"] == "InvalidRequest"
            assert kept_files(server) == 0


def test_who_waits_for_a_snapshot_is_told_that_the_server_is_there(
    broker: Broker, own_server: ViewServer, large: Changelog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription, "HEARTBEAT_S", 0.001)
    connection = http.client.HTTPConnection(own_server.url.removeprefix("http://"))
    connection.request("GET", f"/v1/views/{large.view.name}/subscribe")
    response = connection.getresponse()
    assert [response.readline() for _ in range(2)] == [b":\n", b"\n"]
    connection.close()
    with (
        headwater.connect(broker.bootstrap, views=own_server.url) as client,
        client.view(large.view.name).subscribe() as changes,
    ):
        assert next(iter(changes)).kind == "snapshot"
