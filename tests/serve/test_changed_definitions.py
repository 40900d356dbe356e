"""Subscribers of views whose definitions change, and of several views of one topic."""

from dataclasses import replace

from headwater.client import Client
from headwater.testing import Broker, ViewServer
from headwater.views import Column, View
from rigs.changelog import Changelog, new_name, revenue
from serve.conftest import Changelogs, Http
from serve.sse import Event, Stream


def subscribe(http_client: Http, changelog: Changelog, **parameters: str) -> Stream:
    return Stream(http_client.host, f"/views/{changelog.view.name}/subscribe", **parameters)


def read_until(events: Stream, kind: str) -> Event:
    while (event := next(iter(events))).kind != kind:
        pass
    return event


def without(view: View, column: str) -> tuple[Column, ...]:
    return tuple(each for each in view.columns if each.name != column)


def test_other_columns_of_the_same_version_are_told_to_those_who_stayed(
    http_client: Http, changelog: Changelog, client: Client
) -> None:
    changelog.put(revenue(1))
    with subscribe(http_client, changelog) as events:
        before = read_until(events, "progress")
        client.admin.views.define(replace(changelog.view, columns=without(changelog.view, "name")))
        assert "built anew" in read_until(events, "resync").data["reason"]
        assert "name" not in next(iter(events)).data["row"]
    with subscribe(http_client, changelog, last_id=before.id or "") as events:
        assert next(iter(events)).kind == "resync"


def test_a_filter_that_does_not_fit_a_new_version_fails_also_without_a_snapshot(
    http_client: Http, changelog: Changelog, client: Client
) -> None:
    filtered = {"where": 'name == "Ann"', "snapshot": "false"}
    with subscribe(http_client, changelog, **filtered) as events:
        events.read(1)
        columns = without(changelog.view, "name")
        client.admin.views.define(replace(changelog.view, version=2, columns=columns))
        assert [each.kind for each in events] == ["resync", "failed"]


def test_views_of_one_topic_that_are_far_behind_get_their_own_columns(
    broker: Broker, new_changelog: Changelogs, client: Client
) -> None:
    changelog = new_changelog(partitions=1)
    for number in range(300):
        changelog.start_put(revenue(number, name="x" * 1000))
    changelog.flush()
    wide = changelog.view
    narrow = replace(wide, name=new_name(), columns=without(wide, "name"))
    client.admin.views.define(narrow)
    with ViewServer(broker.bootstrap, tail_bytes=2000) as forgetful:
        columns = {}
        for view in (wide, narrow):
            http = Http(forgetful.url)
            while (http.get(f"/views/{view.name}")[1].get("as_of") or {}).get("0") != 300:
                pass
            with Stream(http.host, f"/views/{view.name}/subscribe", last_id="0:0") as events:
                (event,) = events.read(1)
                columns[view.name] = list(event.data["row"])
    client.admin.views.drop(narrow.name)
    assert columns == {each.name: [c.name for c in each.columns] for each in (wide, narrow)}


def test_a_row_that_never_matched_is_not_deleted_once_the_filter_is_not_about_the_key_any_more(
    http_client: Http, new_changelog: Changelogs, client: Client
) -> None:
    changelog = new_changelog(partitions=1, key=("minute", "customer", "total"))
    with subscribe(http_client, changelog, where="total > 5") as events:
        events.read(1)
        changelog.view = replace(changelog.view, version=2, key=("minute", "customer"))
        client.admin.views.define(changelog.view)
        read_until(events, "resync")
        events.read(1)
        changelog.put(revenue(1, 1.0))
        changelog.put(revenue(2, 10.0))
        (change,) = events.read(1)
    assert (change.data["kind"], change.data["key"]["customer"]) == ("upsert", 2)
