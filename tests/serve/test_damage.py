"""A store that is damaged where only readers look: they are told, and it is built again."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest

import headwater
from headwater.client import Change, Subscription
from headwater.errors import Corruption, Unavailable
from headwater.testing import Broker, ViewServer
from rigs.changelog import Changelog, make_view, new_name, revenue
from serve.conftest import Http

ROWS = 3000


@pytest.mark.parametrize("ask", ["rows", "query", "subscribe"])
def test_damage_that_a_reader_meets_is_mended(broker: Broker, tmp_path: Path, ask: str) -> None:
    view = make_view(new_name())
    with headwater.connect(broker.bootstrap) as client:
        client.admin.topics.create(view.topic, partitions=1, configs={"cleanup.policy": "compact"})
        client.admin.views.define(view)
        changelog = Changelog(client, view)
        for number in range(ROWS):
            changelog.start_put(revenue(number, name="x" * 500))
        changelog.flush()
        with ViewServer(broker.bootstrap, data=str(tmp_path)) as server:
            until(lambda: Http(server.url).get(f"/views/{view.name}")[1].get("rows") == ROWS)
        damage(*(tmp_path / view.name).glob("*.sqlite"))
        with (
            ViewServer(broker.bootstrap, data=str(tmp_path)) as server,
            headwater.connect(broker.bootstrap, views=server.url) as asking,
        ):
            until(lambda: Http(server.url).get(f"/views/{view.name}")[0] != 503)
            views = asking.view(view.name)
            ways: dict[str, Callable[[], object]] = {
                "rows": lambda: list(views.rows()),
                "query": lambda: views.query(f'SELECT sum(total) FROM "{view.name}"'),
                "subscribe": lambda: first_of(views.subscribe()),
            }
            until(lambda: is_answered(ways[ask]))
            assert len(list(views.rows())) == ROWS
        client.admin.views.drop(view.name)


def until(condition: Callable[[], bool], within_s: float = 30.0) -> None:
    deadline_s = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline_s, "it did not happen"


def first_of(changes: Subscription) -> Change:
    with changes:
        return next(iter(changes))


def damage(file: Path) -> None:
    raw = bytearray(file.read_bytes())
    half = len(raw) // 2 // 4096 * 4096
    raw[half : half + 20 * 4096] = b"\xa5" * 20 * 4096
    file.write_bytes(raw)


def is_answered(asking: Callable[[], object]) -> bool:
    try:
        asking()
    except (Corruption, Unavailable):
        return False
    return True
