"""How the pipeline's queries do, followed on the topic where their runner says so."""

import threading
from collections.abc import Callable, Mapping
from typing import Final

import headwater as hw
from headwater.streams.run.board import Board
from headwater.streams.run.status import STATUS_TOPIC, Status

Statuses = Mapping[str, Status]

READS: Final = {
    "sales": ("shop.orders",),
    "receipts": ("shop.payments",),
    "clicked": ("shop.searches", "shop.clicks"),
    "revenue": ("shop.receipts",),
    "top_sellers": ("shop.sales",),
    "click_through": ("shop.searches", "shop.clicked"),
}
"""The queries of the shop and the streams they read, each after those that it reads from."""


class Progress:
    """The last status of each query; `wait_for` is woken by every new one."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._changed = threading.Condition()
        self._is_over = threading.Event()
        self._statuses: dict[str, Status] = {}
        self._thread = threading.Thread(target=self._follow, daemon=True)

    @property
    def statuses(self) -> dict[str, Status]:
        return dict(self._statuses)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._is_over.set()
        self._thread.join()

    def forget(self) -> None:
        """Who said all this is gone; what it said last is not how it is."""
        with self._changed:
            self._statuses.clear()

    def wait_for(self, condition: Callable[[Statuses], bool], patience_s: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: condition(self._statuses), patience_s)

    def _follow(self) -> None:
        with hw.connect(self._address, timeout_s=300) as client:
            Board(client).put_up()
            with client.consumer(STATUS_TOPIC, on_bad="skip") as records:
                while not self._is_over.is_set():
                    for record in records.poll(max_wait_s=0.2):
                        if str(record.key).startswith("status/") and record.value is not None:
                            self._note(Status.from_json(record.value))

    def _note(self, status: Status) -> None:
        with self._changed:
            self._statuses[status.query] = status
            self._changed.notify_all()


def are_under_way(statuses: Statuses) -> bool:
    """Whether every query has done a batch, and whoever drops late rows knows what late is."""
    return all(
        query in statuses and statuses[query].state == "running" and statuses[query].rows > 0
        for query in READS
    ) and all((statuses[each].watermark or "1970") > "1971" for each in ("sales", "receipts"))


def have_moved(statuses: Statuses, before: Statuses) -> bool:
    """Whether every query has got further than it was."""
    return all(
        each in statuses and _processed(statuses[each]) > _processed(before[each]) for each in READS
    )


def _processed(status: Status) -> int:
    return sum(offset for topic in status.positions.values() for offset in topic.values())


def has_read(status: Status | None, topic: str, ends: Mapping[int, int]) -> bool:
    """Whether a query has processed a topic up to these offsets, and written what came of it."""
    positions = {} if status is None else status.positions.get(topic, {})
    return all(positions.get(str(partition), 0) >= end for partition, end in ends.items())
