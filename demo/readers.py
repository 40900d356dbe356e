"""Two consumer groups on one topic: each group reads every record, the members of a group share them."""

import threading
from collections import Counter
from dataclasses import dataclass, field

import headwater as hw
from headwater.client import Consumer

MEMBERS = {"billing": 2, "analytics": 1}


@dataclass(slots=True)
class Reader:
    """One member of a group, and how often it saw each record."""

    group: str
    seen: Counter[tuple[int, int]] = field(default_factory=Counter)
    consumer: Consumer | None = None

    @property
    def is_ready(self) -> bool:
        return self.consumer is not None and bool(self.consumer.assignment)


class Readers:
    """All members of all groups, each on its thread."""

    def __init__(self, address: str, topic: str) -> None:
        self._address = address
        self._topic = topic
        self._is_over = threading.Event()
        self.members = [Reader(group) for group, count in MEMBERS.items() for _ in range(count)]
        self._threads = [
            threading.Thread(target=self._read, args=(each,), daemon=True) for each in self.members
        ]

    @property
    def are_ready(self) -> bool:
        """Whether every member has its share of the partitions."""
        return all(each.is_ready for each in self.members)

    def start(self) -> None:
        for each in self._threads:
            each.start()

    def stop(self) -> None:
        self._is_over.set()
        for each in self._threads:
            each.join()

    def shares(self, group: str) -> list[int]:
        """How many records each member has read."""
        return [sum(each.seen.values()) for each in self.members if each.group == group]

    def seen(self, group: str) -> Counter[tuple[int, int]]:
        return sum((each.seen for each in self.members if each.group == group), Counter())

    def _read(self, reader: Reader) -> None:
        with (
            hw.connect(self._address, timeout_s=300) as client,
            client.consumer(self._topic, group=reader.group, value_format="bytes") as records,
        ):
            reader.consumer = records
            while not self._is_over.is_set():
                batch = records.poll(max_records=2_000, max_wait_s=0.2)
                reader.seen.update((each.partition, each.offset) for each in batch)
