"""A store that is damaged where only readers look: they are told, and it is built again."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import headwater
from headwater.client import Change, Client, Subscription
from headwater.errors import Corruption, Unavailable
from headwater.testing import Broker, ViewServer
from headwater.views import View
from rigs.changelog import Changelog, make_view, new_name, revenue
from rigs.sqlite_damage import damage_root
from serve.conftest import Http
from serve.sse import Stream

ROWS = 3000


@pytest.mark.parametrize("ask", ["rows", "query", "subscribe"])
def test_damage_that_a_reader_meets_is_mended(broker: Broker, tmp_path: Path, ask: str) -> None:
    with headwater.connect(broker.bootstrap) as client:
        view = stored_view(client, broker, tmp_path)
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


def test_damage_that_a_subscription_meets_first_is_told_and_mended(
    broker: Broker, tmp_path: Path
) -> None:
    with headwater.connect(broker.bootstrap) as client:
        view = stored_view(client, broker, tmp_path)
        damage_root(*(tmp_path / view.name).glob("*.sqlite"))
        with ViewServer(broker.bootstrap, data=str(tmp_path)) as server:
            until(lambda: is_served(server, view))
            path = f"/views/{view.name}/subscribe"
            with Stream(Http(server.url).host, path) as events:
                assert [(each.kind, each.data["kind"]) for each in events] == [
                    ("failed", "Corruption")
                ]
            until(lambda: Http(server.url).get(f"/views/{view.name}")[1].get("rows") == ROWS)
        client.admin.views.drop(view.name)


@pytest.mark.parametrize("ask", ["rows", "query"])
def test_a_file_that_was_removed_is_built_again(broker: Broker, tmp_path: Path, ask: str) -> None:
    with headwater.connect(broker.bootstrap) as client:
        view = stored_view(client, broker, tmp_path)
        with (
            ViewServer(broker.bootstrap, data=str(tmp_path)) as server,
            headwater.connect(broker.bootstrap, views=server.url) as asking,
        ):
            until(lambda: is_served(server, view))
            shutil.rmtree(tmp_path)
            ways: dict[str, Callable[[], object]] = {
                "rows": lambda: len(list(asking.view(view.name).rows())),
                "query": lambda: asking.views.query(f'SELECT count(*) FROM "{view.name}"').rows,
            }
            until(lambda: is_answered(ways[ask]))
            new = make_view(new_name())
            client.admin.topics.create(new.topic, partitions=1, replicas=1)
            client.admin.views.define(new)
            until(lambda: is_served(server, new))
            client.admin.views.drop(new.name)
        client.admin.views.drop(view.name)


def test_of_the_views_of_a_query_only_the_damaged_one_is_built_again(
    broker: Broker, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with headwater.connect(broker.bootstrap) as client:
        sound, hurt = (stored_view(client, broker, tmp_path) for _ in range(2))
        damage_root(*(tmp_path / hurt.name).glob("*.sqlite"))
        with ViewServer(broker.bootstrap, data=str(tmp_path)) as server:
            until(lambda: is_served(server, sound) and is_served(server, hurt))
            sql = f'SELECT count(*) FROM "{sound.name}" a JOIN "{hurt.name}" b USING (customer)'
            status, answer = Http(server.url).query(sql)
            assert (status, answer["error"]["kind"]) == (500, "Corruption")
            assert answer["error"]["what"].startswith(f"view {hurt.name!r} is damaged")
            noted = [vars(each) for each in caplog.records if "is damaged" in each.message]
            assert [each["view"] for each in noted] == [hurt.name]
            until(lambda: Http(server.url).query(sql)[1].get("rows") == [[ROWS]])
        for each in (sound, hurt):
            client.admin.views.drop(each.name)


def stored_view(client: Client, broker: Broker, directory: Path) -> View:
    """A view whose store is in the directory, and nobody's."""
    view = make_view(new_name())
    client.admin.topics.create(view.topic, partitions=1, configs={"cleanup.policy": "compact"})
    client.admin.views.define(view)
    changelog = Changelog(client, view)
    for number in range(ROWS):
        changelog.start_put(revenue(number, name="x" * 500))
    changelog.flush()
    with ViewServer(broker.bootstrap, data=str(directory)) as server:
        until(lambda: Http(server.url).get(f"/views/{view.name}")[1].get("rows") == ROWS)
    return view


def is_served(server: ViewServer, view: View) -> bool:
    """By the list of views, which reads none of them."""
    listed = Http(server.url).get("/views")[1]["views"]
    return view.name in [each["name"] for each in listed if each["as_of"]]


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
