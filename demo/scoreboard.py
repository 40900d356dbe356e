"""What was sent, acknowledged and read, counted by event id."""

import threading
from collections import Counter
from dataclasses import dataclass, field

from headwater.client import Consumer


@dataclass(slots=True)
class Reader:
    """One member of a group: how often it saw each event."""

    group: str
    name: str
    seen: Counter[str] = field(default_factory=Counter)
    count: int = 0
    consumer: Consumer | None = None

    @property
    def partitions(self) -> int:
        return len(self.consumer.assignment) if self.consumer is not None else 0


@dataclass(slots=True)
class Scoreboard:
    """Written by the workers, read by the screen."""

    acknowledged: set[str] = field(default_factory=set)
    produced: int = 0
    failed: list[str] = field(default_factory=list)
    readers: list[Reader] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def seen_by(self, group: str) -> Counter[str]:
        total: Counter[str] = Counter()
        for each in self.readers:
            if each.group == group:
                total += each.seen
        return total

    def count_of(self, group: str) -> int:
        return sum(each.count for each in self.readers if each.group == group)
