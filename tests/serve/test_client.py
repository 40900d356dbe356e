"""The client's views: typed rows, filters by keyword, pages, and errors as ours."""

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from headwater.client import Client
from headwater.errors import InvalidRequest, NotFound
from headwater.views import Column, parse_type
from rigs.changelog import REVENUE, Changelog, make_view, new_name, revenue
from serve.conftest import Changelogs

TYPES = {
    "id": "bigint",
    "name": "string",
    "price": "decimal(20,4)",
    "day": "date",
    "at": "timestamp",
    "raw": "binary",
    "paid": "boolean",
    "tags": "array<string>",
    "rate": "double",
}


def test_values_are_python_objects_of_their_types(
    client: Client, new_changelog: Changelogs
) -> None:
    changelog = new_changelog(columns=TYPES, key=("id", "name"))
    written = {
        "id": 2**60,
        "name": "a,b/c?&é ",
        "price": Decimal("12345678901234.5678"),
        "day": date(2026, 9, 1),
        "at": datetime(2026, 9, 1, 10, 0, 0, 5, tzinfo=UTC),
        "raw": b"\x00\xff",
        "paid": False,
        "tags": ["x", "é"],
        "rate": float("inf"),
    }
    receipt = changelog.put(written)
    view = client.view(changelog.view.name)
    row = view.get(id=2**60, name="a,b/c?&é ", wait_for=receipt)
    assert row == written
    assert row is not None
    assert row.as_of == {receipt.partition: receipt.offset + 1, 1 - receipt.partition: 0}
    assert list(view.rows(price=Decimal("12345678901234.5678"), paid=False)) == [written]
    assert list(view.rows('at > "2026-09-01T10:00:00.000004Z" and rate > 1e300')) == [written]
    assert list(view.rows(raw=b"\x00\xff", name="a,b/c?&é ")) == [written]
    assert list(view.rows(day=date(2026, 9, 2))) == []
    with view.subscribe(id=2**60) as changes:
        assert next(iter(changes)).row == written


def test_rows_are_fetched_page_by_page_and_limited(
    client: Client, new_changelog: Changelogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    changelog = new_changelog(partitions=1)
    for number in range(25):
        last = changelog.start_put(revenue(number))
    monkeypatch.setattr("headwater.client.view.PAGE_ROWS", 4)
    view = client.view(changelog.view.name)
    found = [row["customer"] for row in view.rows(wait_for=last.result())]
    assert found == list(range(25))
    assert [row["customer"] for row in view.rows("customer >= 3", limit=6)] == [3, 4, 5, 6, 7, 8]


def test_a_row_that_is_not_there_is_none_and_a_view_that_is_not_there_an_error(
    client: Client, shop: Changelog
) -> None:
    assert client.view(shop.view.name).get(minute="2026-09-01T10:00Z", customer=99) is None
    with pytest.raises(NotFound, match="there is no view 'nowhere'"):
        client.view("nowhere").get(customer=1)
    with pytest.raises(InvalidRequest, match="needs a value for 'minute'"):
        client.view(shop.view.name).get(customer=1)
    with pytest.raises(InvalidRequest, match="'price' is not in the key"):
        client.view(shop.view.name).get(price=1)
    with pytest.raises(InvalidRequest, match="a query may only SELECT"):
        client.views.query("DROP TABLE revenue")


def test_views_say_how_they_are(client: Client, shop: Changelog) -> None:
    (status,) = [each for each in client.views.list() if each.name == shop.view.name]
    assert (status.state, status.lag_records, status.lag_seconds) == ("following", 0, 0.0)
    details = client.view(shop.view.name).describe()
    assert details.view == shop.view
    assert details.rows == 10


def test_a_view_that_is_asked_for_years_takes_over_new_columns_and_keys(
    client: Client, changelog: Changelog
) -> None:
    changelog.put(revenue(7))
    changelog.wait_until_served()
    name, asked = changelog.view.name, client.view(changelog.view.name)
    assert asked.get(minute="2026-09-01T10:00Z", customer=7) is not None
    more = make_view(name, {**REVENUE, "note": "string"}, key=("minute", "customer"), version=2)
    client.admin.views.define(more)
    while client.view(name).describe().view.version != 2:
        pass
    row = asked.get(minute="2026-09-01T10:00Z", customer=7)
    assert row is not None
    assert (row["customer"], row["note"]) == (7, None)
    assert [each["note"] for each in asked.rows()] == [None]
    other = make_view(name, {"customer": "string", "name": "string"}, topic=new_name(), version=3)
    client.admin.topics.create(other.topic, partitions=1, replicas=1)
    client.admin.views.define(other)
    while client.view(name).describe().view.version != 3:
        pass
    Changelog(client, other).put({"customer": "Ann", "name": "A"})
    while not (rows := list(asked.rows())):
        pass
    assert rows == [{"customer": "Ann", "name": "A"}]
    assert asked.get(customer="Ann", name="A") == rows[0]


def test_a_wait_without_end_is_refused_in_our_words(client: Client, shop: Changelog) -> None:
    with pytest.raises(InvalidRequest, match="timeout_s"):
        list(client.view(shop.view.name).rows(timeout_s=float("inf")))


def test_a_subscription_that_begins_after_the_columns_have_changed_has_the_new_ones(
    client: Client, changelog: Changelog
) -> None:
    changelog.put(revenue(1))
    changelog.wait_until_served()
    view = changelog.view
    with client.view(view.name).subscribe() as changes:  # the first look at it
        vip = Column("vip", parse_type("boolean"))
        client.admin.views.define(replace(view, version=2, columns=(*view.columns, vip)))
        while client.view(view.name).definition.version != 2:
            pass
        first = next(iter(changes))
    assert first.row is not None
    assert first.row["vip"] is None
