"""The producers: branches of the shop that send their events in step, one minute of the shop after another.

In step means: no event of a minute is sent before all of the minute before are acknowledged. So no event
is further behind the newest one than the feed makes it, whatever is killed, and what a watermark drops is
known in advance.
"""

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import headwater as hw
from headwater.client import Producer
from headwater.templates.shop.feed import Event, Shop

OPENING = datetime(2026, 9, 1, 10, tzinfo=UTC)
WATCHED = "shop.orders"
"""The topic whose records are followed one by one, from receipt to reader."""


@dataclass(slots=True)
class Ledger:
    """Everything that was sent, and where the records of the watched topic were stored."""

    sent: list[Event] = field(default_factory=list)
    acknowledged: int = 0
    receipts: set[tuple[int, int]] = field(default_factory=set)
    failed: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def send(self, producer: Producer, events: Iterable[Event]) -> None:
        """Send, and return once all are acknowledged or refused."""
        on_the_way = [
            (event, producer.send(event.topic, event.value, key=event.key)) for event in events
        ]
        with self._lock:
            self.sent += [event for event, _ in on_the_way]
        stored, failed = [], []
        for _, delivery in on_the_way:
            try:
                stored.append(delivery.result())
            except hw.errors.HeadwaterError as error:
                failed.append(str(error))
        with self._lock:
            self.acknowledged += len(stored)
            self.receipts |= {
                (each.partition, each.offset) for each in stored if each.topic == WATCHED
            }
            self.failed += failed


class Branches:
    """Runs the producers, each on its thread, up to the minute that they are allowed to reach."""

    def __init__(self, address: str, ledger: Ledger, *, branches: int, visitors: int) -> None:
        self._address = address
        self._ledger = ledger
        self._visitors = visitors
        self._shops = [Shop(branch) for branch in range(branches)]
        self._in_step = threading.Barrier(branches, action=self._next_minute)
        self._changed = threading.Condition()
        self._limit = 0
        self._pace_s = 0.0
        self._next_at = time.monotonic()
        self._is_over = threading.Event()
        self.minute = 0
        self._threads = [
            threading.Thread(target=self._run, args=(shop,), daemon=True) for shop in self._shops
        ]

    @property
    def now(self) -> datetime:
        """The time in the shop."""
        return OPENING + timedelta(minutes=self.minute)

    def start(self) -> None:
        for each in self._threads:
            each.start()

    def allow(self, minute: int, pace_s: float) -> None:
        """Go on up to this minute of the shop, a minute in `pace_s` seconds or slower."""
        with self._changed:
            self._limit, self._pace_s = minute, pace_s
            self._changed.notify_all()

    def wait_for(self, minute: int, patience_s: float) -> bool:
        """Whether everything before this minute is acknowledged within that time."""
        with self._changed:
            return self._changed.wait_for(lambda: self.minute >= minute, patience_s)

    def send_yesterday(self) -> int:
        """One phone was offline for a day; returns how many events it had kept."""
        phone = Shop(branch=len(self._shops))
        events = [*phone.open(customers=5), *phone.yesterday(OPENING)]
        with (
            hw.connect(self._address) as client,
            client.producer(value_format="bytes") as producer,
        ):
            self._ledger.send(producer, events)
        return len(events)

    def stop(self) -> None:
        self._is_over.set()
        with self._changed:
            self._changed.notify_all()
        self._in_step.abort()
        for each in self._threads:
            each.join()

    def _run(self, shop: Shop) -> None:
        with (
            hw.connect(self._address, timeout_s=300) as client,
            client.producer(value_format="bytes") as producer,
        ):
            self._ledger.send(producer, shop.open())
            while self._may_go_on():
                begin = OPENING + timedelta(minutes=self.minute)
                self._ledger.send(producer, shop.serve(begin, 60, self._visitors))
                try:
                    self._in_step.wait()
                except threading.BrokenBarrierError:
                    return

    def _may_go_on(self) -> bool:
        with self._changed:
            self._changed.wait_for(lambda: self._is_over.is_set() or self.minute < self._limit)
        return not self._is_over.is_set()

    def _next_minute(self) -> None:
        """Once for all, when all have sent their minute: keep the pace, then go on."""
        self._is_over.wait(max(0.0, self._next_at - time.monotonic()))
        self._next_at = time.monotonic() + self._pace_s
        with self._changed:
            self.minute += 1
            self._changed.notify_all()
