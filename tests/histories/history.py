"""What transactional writers, readers and groups saw of a broker: the data that `checker` judges.

Times are seconds of the machine's monotonic clock, which all processes share. A write is stamped before
the call that makes it, a read after the call that returned it.
"""

from dataclasses import dataclass
from enum import StrEnum

Partition = tuple[str, int]
"""(topic, index)"""


class Outcome(StrEnum):
    """What a writer knows of how its transaction ended."""

    COMMITTED = "committed"
    ABORTED = "aborted"
    """Aborted, or commit was never asked for: none of it may ever be seen."""
    UNKNOWN = "unknown"
    """Commit was asked for and not answered: all of it or nothing."""


class Isolation(StrEnum):
    READ_COMMITTED = "read_committed"
    READ_UNCOMMITTED = "read_uncommitted"


@dataclass(frozen=True)
class Append:
    """A value, unique in the history, that a transaction writes. `source` is the value it was made from."""

    partition: Partition
    value: str
    source: str | None = None


@dataclass(frozen=True)
class Transaction:
    id: str
    writer: str
    outcome: Outcome
    appends: tuple[Append, ...]
    """In the order in which they were sent."""
    group: str | None = None
    offsets: tuple[tuple[Partition, int], ...] = ()
    """Where `group` goes on in its input after this transaction."""
    commit_asked_at: float | None = None


@dataclass(frozen=True)
class Record:
    partition: Partition
    offset: int
    value: str
    at: float = 0.0


@dataclass(frozen=True)
class Reading:
    """What one reader was given, in this order, from the beginning of each partition.

    `is_final`: it began when every writer had ended and went on to the end of each partition.
    """

    reader: str
    isolation: Isolation
    records: tuple[Record, ...]
    is_final: bool = False


@dataclass(frozen=True)
class Position:
    """Where a group goes on in a partition, as the broker told an observer."""

    group: str
    partition: Partition
    offset: int
    at: float = 0.0
    is_final: bool = False


@dataclass(frozen=True)
class End:
    """The end of a partition when all was over; `last_stable` lags behind while a transaction hangs."""

    partition: Partition
    last_stable: int
    high_watermark: int


@dataclass(frozen=True)
class History:
    """One run. It has at least one final read_committed reading."""

    transactions: tuple[Transaction, ...]
    readings: tuple[Reading, ...]
    positions: tuple[Position, ...] = ()
    ends: tuple[End, ...] = ()
