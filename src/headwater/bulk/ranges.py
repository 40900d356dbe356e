"""What is read: a partition from one offset up to another."""

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class OffsetRange:
    """The records of one partition with an offset in [start, end)."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def size(self) -> int:
        """How many offsets; there may be fewer records."""
        return max(0, self.end - self.start)

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} from {self.start} to {self.end}"


class Isolation(IntEnum):
    """Which records a reader sees, with Kafka's numbers."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1
