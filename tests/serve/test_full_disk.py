"""A disk that is really full under a follower: it waits with the reason, readers go on, space heals it."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import headwater
from headwater.client import ServedView
from headwater.errors import HeadwaterError
from headwater.testing import Broker, ViewServer
from rigs.changelog import Changelog, make_view, revenue


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


def test_a_full_disk_is_a_reason_to_wait_and_nothing_is_lost(small_disk: Path) -> None:
    with (
        Broker() as broker,
        ViewServer(broker.bootstrap, data=small_disk / "views") as server,
        headwater.connect(broker.bootstrap, views=server.url) as client,
    ):
        made = make_view("shop.revenue")
        broker.create_topic(made.topic, cleanup_policy="compact")
        client.admin.views.define(made)
        changelog = Changelog(client, made)
        view = client.view(made.name)
        first = changelog.put(revenue(0, name="before"))
        while state_of(view)[0] != "following":
            pass
        view.get(minute="2026-09-01T10:00Z", customer=0, wait_for=first)
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
