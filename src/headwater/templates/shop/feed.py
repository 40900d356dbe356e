"""Visitors of a small shop, as events: they search, click, order and pay.

Events do what events do: a few come twice, some come minutes late, some cannot be read.

python feed.py                    until Ctrl-C
python feed.py --visitors 200     so many a second
"""

import argparse
import contextlib
import heapq
import itertools
import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import headwater as hw
from headwater.client import Client

PRODUCTS = ("tea", "coffee", "cocoa", "mate", "rooibos", "espresso", "matcha", "chai")
ADJECTIVES = ("organic", "strong", "mild", "cheap", "best")
CITIES = ("Basel", "Bergen", "Bologna", "Bordeaux", "Brno", "Bruges")

TOPICS = ("shop.orders", "shop.payments", "shop.searches", "shop.clicks", "shop.customers")
STRAGGLERS_S = 300
"""No straggler is later than this, and none is given up by the pipeline, which waits ten minutes."""


@dataclass(frozen=True, slots=True)
class Event:
    topic: str
    key: str
    value: bytes | None
    """None deletes: a customer has left."""


class Shop:
    """One branch of the shop; the same branch, seed and calls give the same events."""

    def __init__(self, branch: int = 0, seed: int = 1) -> None:
        self._branch = branch
        self._chance = random.Random(f"{seed}/{branch}")
        self._numbers = itertools.count(1)
        self._customers: list[dict[str, Any]] = []
        self._on_the_way: list[tuple[datetime, int, Event]] = []

    def open(self, customers: int = 200) -> list[Event]:
        """The customers who are there from the beginning, and some who have left again."""
        self._customers = [self._new_customer() for _ in range(customers)]
        gone = [self._new_customer() for _ in range(customers // 20)]
        events = [_customer_event(each) for each in (*self._customers, *gone)]
        return events + [Event(each.topic, each.key, None) for each in map(_customer_event, gone)]

    def serve(self, begin: datetime, seconds: float, visitors: int) -> list[Event]:
        """Everything that arrives in these seconds, in the order of arrival."""
        for _ in range(visitors):
            self._visit(begin + timedelta(seconds=self._chance.uniform(0, seconds)))
        newcomer = self._new_customer()
        renamed = self._chance.choice(self._customers)
        renamed["name"] = f"Customer {renamed['id']}, married"
        arrivals = [_customer_event(newcomer), _customer_event(renamed)]
        while self._on_the_way and self._on_the_way[0][0] < begin + timedelta(seconds=seconds):
            arrivals.append(heapq.heappop(self._on_the_way)[2])
        # Orders from the next call on: by then everybody can know this customer.
        self._customers.append(newcomer)
        return arrivals

    def yesterday(self, now: datetime, orders: int = 5) -> list[Event]:
        """What a phone sends that was offline for a day: nobody waits that long."""
        return [
            event for _ in range(orders) for _, event in self._purchase(now - timedelta(days=1))
        ]

    def _visit(self, at: datetime) -> None:
        search, product = self._new_id(), self._chance.choice(PRODUCTS)
        phrase = f"{self._chance.choice(ADJECTIVES)} {product}"
        # Nobody waits for an answer, so nobody sends it again.
        event = _event("shop.searches", search, at, id=search, phrase=phrase)
        self._deliver(at, event, is_retried=False)
        if self._chance.random() < 0.6:
            # The pipeline counts clicks within five minutes of their search.
            clicked_at = at + self._between(2, 400)
            fields = {"id": self._new_id(), "search": search, "product": product}
            self._deliver(clicked_at, _event("shop.clicks", search, clicked_at, **fields))
        if self._chance.random() < 0.25:
            for moment, event in self._purchase(at + self._between(5, 60)):
                self._deliver(moment, event)

    def _purchase(self, at: datetime) -> Iterator[tuple[datetime, Event]]:
        """An order and, mostly, its payment."""
        order, customer = self._new_id(), self._chance.choice(self._customers)["id"]
        quantity = self._chance.randrange(1, 5)
        total = quantity * self._chance.randrange(200, 2_000) / 100
        is_typo = self._chance.random() < 0.002
        fields = {
            "id": order,
            "customer": customer,
            "product": self._chance.choice(PRODUCTS),
            "quantity": quantity,
            "total": -total if is_typo else total,
        }
        yield at, _event("shop.orders", str(customer), at, **fields)
        if self._chance.random() < 0.95:
            paid_at = at + self._between(1, 60)
            fields = {"id": self._new_id(), "order_id": order, "amount": total}
            yield paid_at, _event("shop.payments", order, paid_at, **fields)

    def _deliver(self, at: datetime, event: Event, *, is_retried: bool = True) -> None:
        """Put it on its way: most events arrive at once, and once."""
        if self._chance.random() < 0.03:
            at += self._between(1, STRAGGLERS_S)
        self._arrive(at, event)
        if is_retried and self._chance.random() < 0.02:
            self._arrive(at + self._between(0, 60), event)
        if self._chance.random() < 0.0005:
            self._arrive(at, self._broken(event))

    def _broken(self, event: Event) -> Event:
        value = event.value or b""
        is_cut = self._chance.random() < 0.5
        damaged = value[: len(value) // 2] if is_cut else value.replace(b'"at":"', b'"at":"soon ')
        return Event(event.topic, event.key, damaged)

    def _arrive(self, at: datetime, event: Event) -> None:
        heapq.heappush(self._on_the_way, (at, next(self._numbers), event))

    def _new_customer(self) -> dict[str, Any]:
        number = self._branch * 1_000_000 + next(self._numbers)
        return {"id": number, "name": f"Customer {number}", "city": self._chance.choice(CITIES)}

    def _new_id(self) -> str:
        return f"{self._branch}-{next(self._numbers)}"

    def _between(self, least_s: float, most_s: float) -> timedelta:
        return timedelta(seconds=self._chance.uniform(least_s, most_s))


def _event(topic: str, key: str, at: datetime, **fields: Any) -> Event:
    moment = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return Event(topic, key, json.dumps({**fields, "at": moment}, separators=(",", ":")).encode())


def _customer_event(customer: dict[str, Any]) -> Event:
    value = json.dumps(customer, separators=(",", ":")).encode()
    return Event("shop.customers", f'{{"id":{customer["id"]}}}', value)


def create_topics(client: Client, partitions: int = 1) -> None:
    """Make what is missing; of customers the last record of each is kept."""
    for topic in TOPICS:
        configs = {"cleanup.policy": "compact"} if topic == "shop.customers" else {}
        with contextlib.suppress(hw.errors.Conflict):
            client.admin.topics.create(topic, partitions=partitions, configs=configs)


def main() -> None:
    parser = argparse.ArgumentParser(description="Visitors of a small shop, as events.")
    parser.add_argument("--visitors", type=int, default=20, help="so many a second")
    visitors = parser.parse_args().visitors
    shop, sent = Shop(seed=time.time_ns()), 0
    with hw.connect() as client, client.producer(value_format="bytes") as producer:
        create_topics(client)
        arrivals = shop.open()
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                for each in arrivals:
                    producer.send(each.topic, each.value, key=each.key)
                sent += len(arrivals)
                print(f"\r{sent:,} events sent, Ctrl-C ends", end="", flush=True)
                time.sleep(1)
                arrivals = shop.serve(datetime.now(UTC) - timedelta(seconds=1), 1, visitors)
    print()


if __name__ == "__main__":
    main()
