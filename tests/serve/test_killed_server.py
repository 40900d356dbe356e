"""kill -9 of followers and server, again and again, at random points of a history that goes on.

After every kill the store is what the topic was up to the store's own offsets, to the row. At the end it
is the whole topic; and a subscriber that lived through it all has seen every change once.
"""

import threading
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

import headwater
from headwater.client import Client
from headwater.errors import HeadwaterError, Unavailable
from headwater.followers.changes import Positions
from headwater.followers.sqlite.shelf import SqliteShelf
from headwater.followers.store import Page
from headwater.testing import Broker
from headwater.views import decode_key, encode_key
from headwater.views.rows import decode_row
from rigs.changelog import Changelog, make_view, revenue
from rigs.view_process import ViewProcess

CHANGES = 8_000
KILLS = 4


class Subscriber(threading.Thread):
    """Collects the place of every change that it is told of."""

    def __init__(self, client: Client, name: str) -> None:
        super().__init__()
        self.places: list[tuple[int, int]] = []
        self.odd: list[Any] = []
        self.is_ready = threading.Event()
        self._changes = client.view(name).subscribe(snapshot=False, progress=True)

    def run(self) -> None:
        before: dict[int, int] | None = None
        for change in self._changes:
            self.is_ready.set()
            now = dict(change.as_of or {})
            if change.kind in ("upsert", "delete") and before is not None:
                moved = [(p, at) for p, at in now.items() if at != before.get(p)]
                self.places += [(p, at - 1) for p, at in moved]
            elif change.kind != "progress":
                self.odd.append(change)
            before = now or before

    def close(self) -> None:
        self._changes.close()


def write_history(changelog: Changelog, random: Random) -> None:
    for number in range(CHANGES):
        customer = random.randrange(300)
        if random.random() < 0.2:
            key = {"minute": "2026-09-01T10:00Z", "customer": customer}
            changelog.write(encode_key(changelog.view, key), None)
        else:
            changelog.start_put(revenue(customer, float(number), name="x" * random.randrange(50)))
        if number % 500 == 0:
            changelog.flush()
    changelog.flush()


def table_at(changelog: Changelog, positions: Positions) -> list[dict[str, Any]]:
    """What the topic says up to these positions."""
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for key, value, partition, offset in changelog.records():
        if offset < positions[partition]:
            at = tuple(decode_key(changelog.view, key).values())
            rows.pop(at, None)
            if value is not None:
                rows[at] = decode_row(changelog.view, value)
    return [rows[at] for at in sorted(rows)]


def applied(client: Client, name: str) -> int:
    try:
        return sum((client.view(name).describe().status.as_of or {}).values())
    except HeadwaterError:
        return -1


@pytest.mark.timeout(200)
def test_after_every_kill_the_store_is_a_prefix_of_the_topic_and_nothing_is_told_twice(
    tmp_path: Path,
) -> None:
    random = Random(5)
    with (
        Broker() as broker,
        ViewProcess(broker.bootstrap, tmp_path / "views") as server,
        headwater.connect(broker.bootstrap, views=server.url, timeout_s=30) as client,
    ):
        view = make_view("shop.revenue")
        broker.create_topic(view.topic, partitions=3, cleanup_policy="compact")
        client.admin.views.define(view)
        while applied(client, view.name) < 0:
            pass
        changelog = Changelog(client, view)
        subscriber = Subscriber(client, view.name)
        subscriber.start()
        assert subscriber.is_ready.wait(30)
        writer = threading.Thread(target=write_history, args=(changelog, random))
        writer.start()
        for number in range(1, KILLS + 1):
            target = random.randrange(number * CHANGES // (KILLS + 2), CHANGES * number // KILLS)
            while applied(client, view.name) < min(target, CHANGES - 1):
                pass
            server.kill()
            check_store(tmp_path / "views", changelog)
            server.start()
        writer.join()
        while applied(client, view.name) < CHANGES:
            pass
        found = [dict(row) for row in client.view(view.name).rows()]
        expected = changelog.table()
        assert [row["customer"] for row in found] == [row["customer"] for row in expected]
        assert [row["total"] for row in found] == [row["total"] for row in expected]
        deadline = time.monotonic() + 30
        while len(subscriber.places) < CHANGES and time.monotonic() < deadline:
            pass
        subscriber.close()
        subscriber.join()
    assert subscriber.odd == []
    assert len(subscriber.places) == CHANGES
    assert len(set(subscriber.places)) == CHANGES


def check_store(directory: Path, changelog: Changelog) -> None:
    shelf = SqliteShelf(directory)
    (store,) = shelf.stores(changelog.view.name)
    try:
        answer = store.reader.scan(None, Page(limit=100_000))
        assert answer.rows == table_at(changelog, answer.as_of)
    finally:
        store.close()
        shelf.close()


def test_a_server_killed_while_it_builds_goes_on_with_the_build(tmp_path: Path) -> None:
    """And what is unfinished is never served."""
    with Broker() as broker:
        server = ViewProcess(broker.bootstrap, tmp_path / "views")
        with headwater.connect(broker.bootstrap, views=server.url) as client:
            view = make_view("shop.revenue")
            broker.create_topic(view.topic, partitions=2, cleanup_policy="compact")
            changelog = Changelog(client, view)
            for number in range(20_000):
                changelog.start_put(revenue(number))
            changelog.flush()
            client.admin.views.define(view)
            for _ in range(3):
                server.start()
                while not list((tmp_path / "views").glob("*/*.sqlite")):
                    pass
                server.kill()
            server.start()
            served = client.view(view.name)
            seen = set()
            while True:
                try:
                    seen.add(len(list(served.query("SELECT 1 FROM revenue LIMIT 5").rows)))
                    break
                except Unavailable:
                    continue
            assert seen == {5}
            assert served.query("SELECT count(*) FROM revenue").rows == ((20_000,),)
            assert len(list((tmp_path / "views" / view.name).glob("*.sqlite"))) == 1
        assert server.stop() == 0
        assert not (tmp_path / "views" / "views.json").exists()
