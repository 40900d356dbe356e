"""A real broker, real followers and a real HTTP server; requests over sockets."""

import http.client
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

import headwater
from headwater.client import Client, Receipt
from headwater.testing import Broker, ViewServer
from rigs.changelog import Changelog, make_view, new_name, revenue


class Http:
    """Plain requests: what any program could send."""

    def __init__(self, url: str, token: str = "") -> None:
        self.host = url.removeprefix("http://")
        self.token = token

    def ask(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> tuple[int, Any]:
        connection = http.client.HTTPConnection(self.host, timeout=30)
        raw = json.dumps(body).encode() if isinstance(body, dict) else body
        given = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        kind = {"Content-Type": "application/json"} if isinstance(body, dict) else {}
        connection.request(method, path, raw, {**given, **kind, **(headers or {})})
        response = connection.getresponse()
        content = response.read()
        connection.close()
        return response.status, json.loads(content)

    def get(self, path: str, **parameters: Any) -> tuple[int, Any]:
        query = f"?{urlencode(parameters, doseq=True)}" if parameters else ""
        return self.ask("GET", f"/v1{path}{query}")

    def query(self, sql: str, *parameters: Any, **others: Any) -> tuple[int, Any]:
        return self.ask("POST", "/v1/query", {"sql": sql, "parameters": list(parameters), **others})


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as running:
        yield running


@pytest.fixture(scope="module")
def server(broker: Broker) -> Iterator[ViewServer]:
    with ViewServer(
        broker.bootstrap, max_rows=500, max_query_ms=1000, max_wait_ms=20_000
    ) as running:
        yield running


@pytest.fixture(scope="module")
def http_client(server: ViewServer) -> Http:
    return Http(server.url)


@pytest.fixture(scope="module")
def client(broker: Broker, server: ViewServer) -> Iterator[Client]:
    with headwater.connect(broker.bootstrap, views=server.url, timeout_s=15) as connected:
        yield connected


class Changelogs:
    """Makes views with topics of their own, each served as soon as it is returned."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._made: list[str] = []

    def __call__(self, partitions: int = 2, name: str | None = None, **options: Any) -> Changelog:
        view = make_view(name or new_name(), **options)
        self._client.admin.topics.create(
            view.topic, partitions=partitions, replicas=1, configs={"cleanup.policy": "compact"}
        )
        self._client.admin.views.define(view)
        self._made.append(view.name)
        while view.name not in [each.name for each in self._client.views.list() if each.as_of]:
            pass
        return Changelog(self._client, view)

    def drop_all(self) -> None:
        for name in self._made:
            self._client.admin.views.drop(name)


@pytest.fixture
def new_changelog(client: Client) -> Iterator[Changelogs]:
    made = Changelogs(client)
    yield made
    made.drop_all()


@pytest.fixture
def changelog(new_changelog: Changelogs) -> Changelog:
    return new_changelog()


@pytest.fixture(scope="module")
def shop(client: Client) -> Iterator[Changelog]:
    """For tests that only ask: a view `<unique>.revenue` with ten rows."""
    made = Changelogs(client)
    changelog = made(name=f"{new_name('s')}.revenue")
    for number in range(10):
        changelog.put(revenue(number, float(number), paid=number % 2 == 0))
    changelog.wait_until_served()
    assert len(list(client.view(changelog.view.name).rows())) == 10
    yield changelog
    made.drop_all()


def text_of(receipt: Receipt) -> str:
    return f"{receipt.topic}/{receipt.partition}/{receipt.offset}"
