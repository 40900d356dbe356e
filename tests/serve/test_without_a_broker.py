"""A server of views that is started while its broker is away."""

import json
from pathlib import Path
from urllib.request import urlopen

import headwater
from headwater.client.client import client_for
from headwater.views import View
from rigs.changelog import Changelog, make_view, revenue
from rigs.headwater_process import HeadwaterProcess
from rigs.view_process import ViewProcess


def test_what_was_built_is_served_before_the_broker_is_back_and_followed_afterwards(
    tmp_path: Path,
) -> None:
    view = make_view("shop.revenue")
    with HeadwaterProcess() as broker:
        server = ViewProcess(broker.bootstrap, tmp_path / "views")
        with server:
            write_first_row(broker.bootstrap, server.url, view)
            server.stop()
            broker.kill()
            server.start()
            with client_for(broker.bootstrap, views=server.url) as client:
                served = client.view(view.name)
                while not client.views.list():
                    pass
                assert served.get(minute="2026-09-01T10:00Z", customer=1) is not None
                with urlopen(f"{server.url}/v1/health") as answer:
                    health = json.load(answer)
                assert health["state"] == "waiting"
                assert "cannot reach a broker" in health["reason"]
                broker.restart()
                changelog = Changelog(client, view)
                receipt = changelog.put(revenue(2))
                row = served.get(minute="2026-09-01T10:00Z", customer=2, wait_for=receipt)
                assert row is not None


def write_first_row(bootstrap: str, url: str, view: View) -> None:
    with headwater.connect(bootstrap, views=url) as client:
        client.admin.topics.create(view.topic, partitions=1, configs={"cleanup.policy": "compact"})
        client.admin.views.define(view)
        changelog = Changelog(client, view)
        changelog.put(revenue(1))
        changelog.wait_until_built()
        changelog.wait_until_served()
