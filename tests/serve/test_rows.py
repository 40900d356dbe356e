"""Rows over HTTP: by key, by filter, page by page; every answer says what it is true of."""

from typing import Any

import pytest

import headwater
from headwater.client import Client
from headwater.errors import InvalidRequest
from headwater.testing import Broker, ViewServer
from rigs.changelog import Changelog, revenue
from serve.conftest import Changelogs, Http, text_of


def test_a_row_is_found_by_its_key(http_client: Http, changelog: Changelog) -> None:
    receipt = changelog.put(revenue(7, 12.5, name="Ann"))
    path = f"/views/{changelog.view.name}/row"
    status, answer = http_client.get(
        path, key=["2026-09-01T12:00:00+02:00", "7"], wait_for=text_of(receipt)
    )
    assert status == 200
    assert answer["row"] == {
        "minute": "2026-09-01T10:00:00.000000Z",
        "customer": 7,
        "orders": None,
        "total": 12.5,
        "paid": None,
        "name": "Ann",
    }
    assert answer["as_of"][str(receipt.partition)] == receipt.offset + 1


@pytest.mark.parametrize(
    ("key", "status", "sentence"),
    [
        (["2026-09-01T10:00Z", "99"], 404, "has no row with the key 2026-09-01T10:00Z, 99"),
        (["2026-09-01T10:00Z"], 400, "has 2 columns, and 1 values were given"),
        (["now", "7"], 400, "'now' is not a timestamp"),
        (["2026-09-01T10:00Z", "seven"], 400, "'seven' is not a bigint"),
        ([], 400, "key: field required"),
    ],
)
def test_a_key_that_is_wrong_is_one_sentence(
    http_client: Http, shop: Changelog, key: list[str], status: int, sentence: str
) -> None:
    found, answer = http_client.get(f"/views/{shop.view.name}/row", key=key)
    assert (found, answer["error"]["retriable"]) == (status, False)
    assert sentence in answer["error"]["what"]


def test_pages_bring_every_row_once_in_the_order_of_the_key(
    http_client: Http, changelog: Changelog
) -> None:
    for number in range(25):
        changelog.start_put(revenue(number, minute=number % 3))
    changelog.wait_until_served()
    path, rows, after = f"/views/{changelog.view.name}/rows", [], {}
    while True:
        status, answer = http_client.get(path, limit=4, **after)
        assert status == 200
        rows += answer["rows"]
        if answer["next"] is None:
            break
        assert len(answer["rows"]) == 4
        after = {"after": answer["next"]}
    keys = [(each["minute"], each["customer"]) for each in rows]
    assert keys == sorted(set(keys))
    assert rows == changelog.table()


def test_rows_are_filtered_and_limited(http_client: Http, changelog: Changelog) -> None:
    for number in range(10):
        changelog.put(revenue(number, float(number)))
    changelog.wait_until_served()
    path = f"/views/{changelog.view.name}/rows"
    _, answer = http_client.get(path, where="total > 3 and customer != 5")
    assert [each["customer"] for each in answer["rows"]] == [4, 6, 7, 8, 9]
    _, answer = http_client.get(path, where="total > 3", limit=2)
    assert [each["customer"] for each in answer["rows"]] == [4, 5]


def test_more_rows_than_the_server_allows_come_in_pages(
    http_client: Http, new_changelog: Changelogs
) -> None:
    changelog = new_changelog(partitions=1)
    for number in range(600):
        last = changelog.start_put(revenue(number))
    receipt = text_of(last.result())
    path = f"/views/{changelog.view.name}/rows"
    _, answer = http_client.get(path, limit=1000, wait_for=receipt)
    assert len(answer["rows"]) == 500
    assert answer["next"]


def test_pages_of_large_rows_are_shorter_and_bring_every_row_once(
    broker: Broker, changelog: Changelog
) -> None:
    for number in range(10):
        changelog.put(revenue(number, name="x" * 1000))
    changelog.wait_until_served()
    with (
        ViewServer(broker.bootstrap, max_answer_bytes=3500) as server,
        headwater.connect(broker.bootstrap, views=server.url) as client,
    ):
        Changelog(client, changelog.view).wait_until_built()
        _, page = Http(server.url).get(f"/views/{changelog.view.name}/rows")
        assert (len(page["rows"]), page["next"] is None) == (3, False)
        rows = client.view(changelog.view.name).rows()
        assert [each["customer"] for each in rows] == [*range(10)]


def test_pages_go_past_rows_behind_whose_key_none_can_begin(
    http_client: Http, client: Client, new_changelog: Changelogs
) -> None:
    named = new_changelog(columns={"name": "string", "at": "bigint"}, key=("name",))
    names = ["a", "b" * 90_000, "c\u00e9" * 9_000, "d" * 90_000, "e" * 90_000]
    for name in names:
        named.put({"name": name, "at": 1})
    named.wait_until_served()
    path, found, after = f"/views/{named.view.name}/rows", [], {}
    for _ in range(2):
        _, page = http_client.get(path, limit=3, **after)
        found += [each["name"] for each in page["rows"]]
        after = {"after": page["next"]}
    assert (found, page["next"]) == (names, None)

    status, answer = http_client.get(path, limit=1, where="name.startswith('b') or name > 'd'")
    assert (status, answer["error"]["kind"]) == (400, "InvalidRequest")
    assert "each of the next 1 rows has a key of more than 30000 bytes" in answer["error"]["what"]
    with pytest.raises(InvalidRequest, match="address of the request is larger than 65535"):
        client.view(named.view.name).get(name="d" * 90_000)
    with pytest.raises(InvalidRequest, match="head of the request is larger than 131072"):
        client.view(named.view.name).get(name="d" * 200_000)


@pytest.mark.parametrize(
    ("parameters", "sentence"),
    [
        ({"where": "total >"}, "is not a filter"),
        ({"where": "price > 1"}, "has no column 'price'"),
        ({"where": "__import__('os')"}, "a filter cannot contain"),
        ({"after": "AAAA"}, "is not where a page of this view ended"),
        ({"limit": "0"}, "limit: input should be greater than or equal to 1"),
        ({"limit": "many"}, "limit: input should be a valid integer"),
        ({"wait_for": "orders"}, "'orders' is not a receipt"),
        ({"wait_for": '{"topic":1}'}, "is not a receipt"),
        ({"where": "x" * 3000}, "where: string should have at most 2000 characters"),
    ],
)
def test_a_question_that_is_wrong_is_one_sentence(
    http_client: Http, shop: Changelog, parameters: dict[str, Any], sentence: str
) -> None:
    status, answer = http_client.get(f"/views/{shop.view.name}/rows", **parameters)
    assert status == 400
    assert sentence in answer["error"]["what"]
    assert set(answer["error"]) == {"kind", "what", "hint", "retriable"}


def test_views_are_listed_and_described(http_client: Http, changelog: Changelog) -> None:
    receipt = changelog.put(revenue(7))
    http_client.get(f"/views/{changelog.view.name}/rows", wait_for=text_of(receipt))
    _, listed = http_client.get("/views")
    assert changelog.view.name in [each["name"] for each in listed["views"]]
    assert listed["reason"] == ""
    status, found = http_client.get(f"/views/{changelog.view.name}")
    assert (status, found["state"], found["rows"]) == (200, "following", 1)
    assert found["key"] == ["minute", "customer"]
    assert found["columns"][3] == {"name": "total", "type": "double", "nullable": True}
    status, answer = http_client.get(f"/views/{changelog.view.name}x")
    assert (status, answer["error"]["hint"]) == (404, f"did you mean {changelog.view.name!r}?")
    assert http_client.get("/nowhere")[0] == 404
    assert http_client.ask("DELETE", "/v1/views")[0] == 405


def test_a_view_that_is_not_built_yet_says_so(http_client: Http, client: Client) -> None:
    from rigs.changelog import make_view, new_name

    view = make_view(new_name())
    client.admin.views.define(view)
    while view.name not in [each.name for each in client.views.list()]:
        pass
    status, answer = http_client.get(f"/views/{view.name}/rows")
    assert status == 503
    assert "has not been built yet" in answer["error"]["what"]
    assert answer["error"]["retriable"] is True
    assert http_client.get(f"/views/{view.name}")[1]["rows"] is None
    client.admin.views.drop(view.name)


def test_pause_resume_and_rebuild(http_client: Http, changelog: Changelog, client: Client) -> None:
    name = changelog.view.name
    served = client.view(name)
    assert http_client.ask("POST", f"/v1/views/{name}/pause")[0] == 200
    while served.describe().status.state != "paused":
        pass
    receipt = changelog.put(revenue(1))
    status, answer = http_client.get(
        f"/views/{name}/rows", wait_for=text_of(receipt), timeout_s="0.1"
    )
    assert status == 504
    assert "it is paused" in answer["error"]["what"]
    assert http_client.ask("POST", f"/v1/views/{name}/resume")[0] == 200
    assert http_client.get(f"/views/{name}/rows", wait_for=text_of(receipt))[0] == 200
    assert http_client.ask("POST", f"/v1/views/{name}/rebuild")[0] == 200
    receipt = changelog.put(revenue(2))
    _, answer = http_client.get(f"/views/{name}/rows", wait_for=text_of(receipt))
    assert answer["rows"] == changelog.table()
