"""A disk that is really full under a follower: it waits with the reason, readers go on, space heals it."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import headwater
from headwater.client import Client, ServedView
from headwater.errors import HeadwaterError
from headwater.testing import Broker, ViewServer
from rigs.changelog import Changelog, make_view, revenue
from serve.sse import Stream
from serve.test_snapshots import kept_files


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 32 MB, 28 of them taken by a file that can be removed."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=32m", "tmpfs", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("this user may not mount a small file system")
    try:
        (place / "filler").write_bytes(bytes(28 << 20))
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def state_of(view: ServedView) -> tuple[str, str]:
    try:
        status = view.describe().status
    except HeadwaterError as error:
        return "unknown", error.what
    return status.state, status.reason


@contextmanager
def serving(small_disk: Path) -> Iterator[tuple[Client, Changelog, ViewServer]]:
    """One view on the small disk, with one row."""
    with (
        Broker() as broker,
        ViewServer(broker.bootstrap, data=small_disk / "views") as server,
        headwater.connect(broker.bootstrap, views=server.url) as client,
    ):
        made = make_view("shop.revenue")
        broker.create_topic(made.topic, cleanup_policy="compact")
        client.admin.views.define(made)
        changelog = Changelog(client, made)
        first = changelog.put(revenue(0, name="before"))
        view = client.view(made.name)
        while state_of(view)[0] != "following":
            pass
        view.get(minute="2026-09-01T10:00Z", customer=0, wait_for=first)
        yield client, changelog, server


def test_a_full_disk_is_a_reason_to_wait_and_nothing_is_lost(small_disk: Path) -> None:
    with serving(small_disk) as (client, changelog, _):
        view = client.view(changelog.view.name)
        for number in range(1, 4001):
            last = changelog.start_put(revenue(number, name="x" * 1000))
        changelog.flush()
        while "cannot be written" not in state_of(view)[1]:
            pass
        assert state_of(view)[0] == "waiting"
        row = view.get(minute="2026-09-01T10:00Z", customer=0)
        assert row is not None
        assert row["name"] == "before"
        (small_disk / "filler").unlink()
        found = view.query("SELECT count(*) FROM revenue", wait_for=last.result(), timeout_s=20)
        assert found.rows == ((4001,),)


def test_a_snapshot_for_which_there_is_no_space_is_said_to_have_failed(small_disk: Path) -> None:
    """Not an answer without a word; and what was written of it does not take the space of the next one."""
    with serving(small_disk) as (client, changelog, server):
        for number in range(1, 501):
            last = changelog.start_put(revenue(number, name="x" * 1000))
        client.view(changelog.view.name).query("SELECT 1 FROM revenue", wait_for=last.result())
        free = shutil.disk_usage(small_disk).free
        (small_disk / "more").write_bytes(bytes(free - (200 << 10)))
        host, path = server.url.removeprefix("http://"), f"/views/{changelog.view.name}/subscribe"
        with Stream(host, path) as events:
            (failed,) = events.read(1)
        assert (failed.kind, failed.data["kind"]) == ("failed", "StorageFailed")
        assert failed.data["what"] == "a snapshot cannot be kept: no space left on device"
        assert failed.data["retriable"] is True
        assert kept_files(server) == 0
        (small_disk / "more").unlink()
        with Stream(host, path) as events:
            assert {each.kind for each in events.read(501)} == {"snapshot"}
