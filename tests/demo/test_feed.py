"""The shop's visitors: the same ones every time, and as untidy as they are said to be."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta

from headwater.templates.shop.feed import STRAGGLERS_S, Event, Shop

OPENING = datetime(2026, 9, 1, 10, tzinfo=UTC)
RETRY_S = 60


def minutes(branch: int = 0, count: int = 30) -> list[list[Event]]:
    shop = Shop(branch)
    shop.open()
    return [shop.serve(OPENING + timedelta(minutes=each), 60, 100) for each in range(count)]


def moment(event: Event) -> datetime | None:
    """When it happened; None if it cannot be read."""
    try:
        return datetime.fromisoformat(json.loads(event.value or b"")["at"])
    except (ValueError, KeyError):
        return None


def test_the_same_branch_sends_the_same_events() -> None:
    assert minutes() == minutes()
    assert minutes(branch=1) != minutes(branch=0)


def test_no_event_is_later_than_the_pipeline_waits() -> None:
    """Behind the newest event of the minute before; the pipeline waits ten minutes."""
    latest = timedelta(0)
    for number, arrivals in enumerate(minutes()):
        end = OPENING + timedelta(minutes=number + 1)
        moments = [at for each in arrivals if (at := moment(each)) is not None]
        assert max(moments, default=OPENING) < end
        latest = max(latest, *(end - at for at in moments))
    assert timedelta(minutes=2) < latest <= timedelta(seconds=STRAGGLERS_S + RETRY_S + 60)


def test_some_events_come_twice_and_some_cannot_be_read() -> None:
    events = [each for arrivals in minutes() for each in arrivals if each.topic != "shop.customers"]
    copies = Counter(events)
    assert {each.topic for each, count in copies.items() if count > 1} == {
        "shop.orders",
        "shop.payments",
        "shop.clicks",
    }
    unreadable = [each for each in events if moment(each) is None]
    assert unreadable
    assert len(set(unreadable)) == len(unreadable)


def test_nobody_orders_before_the_minute_after_registering() -> None:
    shop = Shop()
    known = {int(each.key[6:-1]) for each in shop.open() if each.value is not None}
    for number in range(10):
        arrivals = shop.serve(OPENING + timedelta(minutes=number), 60, 50)
        orders = [each for each in arrivals if each.topic == "shop.orders" and moment(each)]
        assert {json.loads(each.value or b"")["customer"] for each in orders} <= known
        known |= {int(each.key[6:-1]) for each in arrivals if each.topic == "shop.customers"}


def test_yesterday_is_a_day_before() -> None:
    shop = Shop()
    shop.open()
    events = shop.yesterday(OPENING, orders=2)
    assert {each.topic for each in events} <= {"shop.orders", "shop.payments"}
    assert all((moment(each) or OPENING) < OPENING - timedelta(hours=23) for each in events)
