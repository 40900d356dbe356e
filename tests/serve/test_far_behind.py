"""Subscribers that are far behind: many of them cost little, and none of them holds up another."""

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headwater.followers.changelog import Portions
from headwater.serve import older_changes, subscription
from headwater.serve.older_changes import AT_ONCE
from headwater.testing import Broker, ViewServer
from rigs.changelog import Changelog, revenue
from serve.conftest import Changelogs, Http
from serve.sse import Stream

CHANGES = 3000


@pytest.fixture
def changelog(new_changelog: Changelogs) -> Changelog:
    changelog = new_changelog(partitions=1)
    for number in range(CHANGES):
        changelog.start_put(revenue(number % 100, float(number), name="x" * 3000))
    changelog.flush()
    return changelog


@pytest.fixture
def forgetful(broker: Broker, changelog: Changelog) -> Iterator[ViewServer]:
    """Remembers next to nothing."""
    with ViewServer(broker.bootstrap, tail_bytes=20_000) as running:
        path = f"/views/{changelog.view.name}"
        while (Http(running.url).get(path)[1].get("as_of") or {}).get("0") != CHANGES:
            pass
        yield running


def behind(server: ViewServer, changelog: Changelog, offset: int, **options: Any) -> Stream:
    host, path = server.url.removeprefix("http://"), f"/views/{changelog.view.name}/subscribe"
    return Stream(host, path, last_id=f"0:{offset}", **options)


def consumers() -> int:
    """How many clients of librdkafka this process has: each has one such thread."""
    return sum(
        (each / "comm").read_text().strip() == "rdk:main"
        for each in Path("/proc/self/task").iterdir()
        if (each / "comm").exists()
    )


class Reader(threading.Thread):
    def __init__(self, events: Stream, first: int) -> None:
        super().__init__()
        self.events = events
        self.wanted = list(range(first, CHANGES))
        self.found: list[int] = []

    def run(self) -> None:
        while len(self.found) < len(self.wanted):
            (event,) = self.events.read(1)
            if event.kind == "change":
                self.found.append(event.data["offset"])
        self.events.close()


def test_many_that_are_far_behind_get_every_change_once(
    forgetful: ViewServer, changelog: Changelog
) -> None:
    readers = [Reader(behind(forgetful, changelog, at), at) for at in range(30)]
    for each in readers:
        each.start()
    for each in readers:
        each.join()
    assert [each.found == each.wanted for each in readers] == [True] * 30


def test_those_who_do_not_read_hold_no_consumers_and_keep_nobody_from_reading(
    forgetful: ViewServer, changelog: Changelog
) -> None:
    before = consumers()
    stuck = [behind(forgetful, changelog, at, receive_bytes=4096) for at in range(5 * AT_ONCE)]
    for each in stuck:
        each.read(1)
    # In use, laid aside for who goes on, and being closed.
    assert consumers() - before <= 3 * AT_ONCE
    reader = Reader(behind(forgetful, changelog, 100), 100)
    reader.run()
    assert reader.found == reader.wanted
    for each in stuck:
        each.close()
    while consumers() > before:
        pass


def test_who_is_let_through_nothing_for_long_is_told_how_far_it_is(
    forgetful: ViewServer, changelog: Changelog, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or it takes the server for gone, and begins at the same place again, for ever."""
    monkeypatch.setattr(subscription, "HEARTBEAT_S", 0.2)
    monkeypatch.setattr(older_changes, "PORTION", Portions(records=1))
    with behind(forgetful, changelog, 0, where="customer == -1") as events:
        told = (event.data["as_of"]["0"] for event in events)
        assert next(at for at in told if at > 0) < CHANGES
