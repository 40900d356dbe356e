"""A broker that does not answer: who needs it waits for it, and nobody else notices."""

import http.client
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic

import pytest

import headwater
from headwater.client import Client
from headwater.serve import subscription
from headwater.serve.older_changes import AT_ONCE
from headwater.testing import ViewServer
from rigs.changelog import Changelog, make_view, revenue
from rigs.headwater_process import HeadwaterProcess
from serve.conftest import Http
from serve.sse import Stream

MANY = 32
"""More than there are threads of a kind."""
ROWS = 50


@dataclass
class Setting:
    broker: HeadwaterProcess
    http: Http
    client: Client
    changelog: Changelog

    @property
    def view(self) -> str:
        return self.changelog.view.name

    @contextmanager
    def silence(self) -> Iterator[None]:
        os.kill(self.broker.process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self.broker.process.pid, signal.SIGCONT)

    def ask_for_a_row(self) -> float:
        """How long it took."""
        begun_s = monotonic()
        key = ["2026-09-01T10:00Z", "1"]
        assert self.http.get(f"/views/{self.view}/row", key=key)[0] == 200
        return monotonic() - begun_s


@pytest.fixture
def setting() -> Iterator[Setting]:
    with (
        HeadwaterProcess() as broker,
        ViewServer(broker.bootstrap, tail_bytes=2000) as server,
        headwater.connect(broker.bootstrap, views=server.url) as client,
    ):
        view = make_view("shop.revenue", group="pipeline")
        for topic in (view.topic, "orders", "other"):
            client.admin.topics.create(topic, partitions=1, replicas=1)
        client.admin.views.define(view)
        changelog = Changelog(client, view)
        for number in range(ROWS):
            changelog.put(revenue(number))
        http = Http(server.url)
        while http.get(f"/views/{view.name}")[1].get("rows") != ROWS:
            pass
        yield Setting(broker, http, client, changelog)


def test_rows_are_read_while_many_wait_for_a_topic_to_be_looked_up(setting: Setting) -> None:
    with setting.silence():
        waiting = [http.client.HTTPConnection(setting.http.host) for _ in range(MANY)]
        for each in waiting:
            each.request("GET", "/v1/topics/other/subscribe")
        while setting.http.get("/health")[1]["subscribers"] < MANY:
            pass
        assert setting.ask_for_a_row() < 2
    for each in waiting:  # they all wait for the same answer
        assert each.getresponse().status == 200
        each.close()


def test_rows_are_read_while_many_wait_for_a_pipeline(setting: Setting) -> None:
    answers: list[int] = []

    def wait() -> None:
        path = f"/views/{setting.view}/rows"
        answers.append(setting.http.get(path, wait_for="orders/0/0", timeout_s=5)[0])

    waiting = [threading.Thread(target=wait) for _ in range(MANY)]
    with setting.silence():
        for each in waiting:
            each.start()
        longest_s = 0.0
        while any(each.is_alive() for each in waiting):
            longest_s = max(longest_s, setting.ask_for_a_row())
    assert longest_s < 2
    assert answers == [504] * MANY


def test_who_waits_for_older_changes_is_told_that_the_server_is_there(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription, "HEARTBEAT_S", 0.2)
    path = f"/views/{setting.view}/subscribe"
    with setting.silence():
        waiting = [Stream(setting.http.host, path, last_id=f"0:{at}") for at in range(2 * AT_ONCE)]
        for at, each in enumerate(waiting):
            for event in each.read(2):
                assert (event.kind, event.data) == ("progress", {"as_of": {"0": at}})
    for at, each in enumerate(waiting):
        found = [event for event in each.read(ROWS) if event.kind == "change"]
        assert [event.data["offset"] for event in found] == list(range(at, at + len(found)))
        each.close()


def test_a_filtered_subscriber_goes_on_from_the_tail_without_the_broker(setting: Setting) -> None:
    path = f"/views/{setting.view}/subscribe"
    # What was there when it was built is not in the tail.
    setting.changelog.put(revenue(1, 2.0))
    while setting.http.get(f"/views/{setting.view}")[1]["as_of"] != {"0": ROWS + 1}:
        pass
    with setting.silence():
        events = Stream(setting.http.host, path, last_id=f"0:{ROWS}", where="total > 0")
        events.socket.settimeout(5)
        (change,) = events.read(1)
        events.close()
    assert change.data["offset"] == ROWS


def test_who_is_ahead_of_this_server_is_told_that_it_is_there(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription, "HEARTBEAT_S", 0.2)
    path = f"/views/{setting.view}/subscribe"
    with setting.silence():
        events = Stream(setting.http.host, path, last_id=f"0:{ROWS + 1}")
        events.socket.settimeout(5)
        for event in events.read(2):
            assert (event.kind, event.data) == ("progress", {"as_of": {"0": ROWS + 1}})
    while (event := events.read(1)[0]).kind == "progress":
        pass
    assert (event.kind, event.data["reason"]) == ("resync", "it lies past the end of the topic")
    events.close()
