"""The oracle on a handful of events whose results can be counted by hand."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from demo.oracle import Oracle

from headwater.templates.shop.feed import Event

OPENING = datetime(2026, 9, 1, 10, tzinfo=UTC)


def event(topic: str, **value: Any) -> Event:
    return Event(f"shop.{topic}", "k", json.dumps(value).encode())


def order(number: str, at: str, **more: Any) -> Event:
    fields = {"customer": 1, "product": "tea", "quantity": 2, "total": 5.5, **more}
    return event("orders", id=number, at=at, **fields)


TWICE = order("o1", "2026-09-01T10:00:10.500Z")
BROKEN = Event("shop.orders", "k", b'{"id":"o4","cus')
SENT = [
    Event("shop.customers", '{"id":1}', b'{"id":1,"name":"Ann","city":"Brno"}'),
    Event("shop.customers", '{"id":1}', b'{"id":1,"name":"Ann","city":"Basel"}'),
    Event("shop.customers", '{"id":2}', b'{"id":2,"name":"Bob","city":"Basel"}'),
    Event("shop.customers", '{"id":2}', None),
    TWICE,
    TWICE,
    order("o2", "2026-09-01T10:00:11.000Z", customer=2, total=1),
    order("o3", "2026-09-01T10:00:12.000Z", total=-5.5),
    order("late", "2026-08-31T10:00:00.000Z"),
    BROKEN,
    event("payments", id="p1", order_id="o1", amount=5.5, at="2026-09-01T10:00:59.999Z"),
    event("payments", id="p2", order_id="o2", amount=1, at="2026-09-01T10:00:00.000Z"),
    event("searches", id="s1", phrase="mild tea", at="2026-09-01T10:00:00.000Z"),
    event("searches", id="s2", phrase="mild tea", at="2026-09-01T10:01:00.000Z"),
    event("clicks", id="c1", search="s1", product="tea", at="2026-09-01T10:05:00.000Z"),
    event("clicks", id="c2", search="s2", product="tea", at="2026-09-01T10:06:00.001Z"),
]
AT_10_00 = "2026-09-01T10:00:"
TEA = {"product": "tea", "quantity": 2}
SALE = TEA | {"id": "o1", "customer": 1, "city": "Basel", "total": 5.50, "at": AT_10_00 + "10.5Z"}
OTHER = TEA | {"id": "o2", "customer": 2, "city": "unknown", "total": 1, "at": AT_10_00 + "11Z"}
TYPO = SALE | {"id": "o3", "total": "-5.50", "at": AT_10_00 + "12Z"}
CLICK = {"id": "c1", "search": "s1", "phrase": "mild tea", "product": "tea"}
REVENUE = {"minute": "2026-09-01T10:00:00+00:00", "minute_end": "2026-09-01T10:01:00+00:00"}
RIGHT: dict[str, list[dict[str, Any]]] = {
    "sales": [OTHER, SALE],
    "sales.quarantine": [TYPO],
    "revenue": [{**REVENUE, "total": "6.50", "payments": 2}],
    "top_sellers": [
        {"city": "Basel", "product": "tea", "sold": 2, "total": "5.50"},
        {"city": "unknown", "product": "tea", "sold": 2, "total": "1.00"},
    ],
    "clicked": [CLICK | {"at": "2026-09-01T10:05:00Z"}],
    "click_through": [{"phrase": "mild tea", "searches": 2, "clicks": 1}],
    "dead letters": [{"topic": "shop.orders", "value": '{"id":"o4","cus'}],
}


@pytest.fixture(scope="module")
def oracle() -> Oracle:
    return Oracle(SENT, OPENING)


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_equal(oracle: Oracle, name: str) -> None:
    found = oracle.compare(name, [json.dumps(each) for each in RIGHT[name]])
    assert (found.is_equal, found.rows, found.missing, found.surplus) == (
        True,
        len(RIGHT[name]),
        0,
        0,
    )


@pytest.mark.parametrize("name", RIGHT)
def test_a_row_too_many_or_too_few_is_not(oracle: Oracle, name: str) -> None:
    rows = [json.dumps(each) for each in RIGHT[name]]
    assert oracle.compare(name, [*rows, rows[0]]).surplus == 1
    assert oracle.compare(name, rows[1:]).missing == 1


def test_another_value_is_not(oracle: Oracle) -> None:
    found = oracle.compare("sales", [json.dumps(OTHER), json.dumps({**SALE, "total": 5.51})])
    assert (found.rows, found.missing, found.surplus) == (2, 1, 1)
