"""A history, indexed for the questions that the rules of `checker` ask."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import groupby
from typing import NamedTuple

from histories.history import (
    Append,
    History,
    Isolation,
    Outcome,
    Partition,
    Position,
    Reading,
    Record,
    Transaction,
)

GroupPartition = tuple[str, Partition]
Place = tuple[Partition, int]


class Written(NamedTuple):
    """Who appended a value; `number` counts the appends of its writer."""

    transaction: Transaction
    append: Append
    number: int


class Evidence:
    def __init__(self, history: History) -> None:
        self.transactions = history.transactions
        self.readings = history.readings
        self.positions = history.positions
        self.ends = history.ends

    @cached_property
    def written(self) -> dict[str, Written]:
        found: dict[str, Written] = {}
        numbers: dict[str, int] = defaultdict(int)
        for transaction in self.transactions:
            for append in transaction.appends:
                assert append.value not in found, f"{append.value} was written on purpose twice"
                number = numbers[transaction.writer]
                numbers[transaction.writer] += 1
                found[append.value] = Written(transaction, append, number)
        return found

    def final(self, isolation: Isolation) -> Reading | None:
        """The reading that the others of its isolation level are compared with."""
        of_this_kind = (
            each for each in self.readings if each.is_final and each.isolation is isolation
        )
        return next(of_this_kind, None)

    @cached_property
    def committed(self) -> tuple[Record, ...]:
        """What a read_committed reader is given once all is over."""
        final = self.final(Isolation.READ_COMMITTED)
        assert final is not None, "the history has no final read_committed reading"
        return final.records

    @cached_property
    def visible(self) -> set[str]:
        return {each.value for each in self.committed}

    def is_effective(self, transaction: Transaction) -> bool:
        """Whether it counts: it is committed, or its outcome is unknown and something of it is seen."""
        if transaction.outcome is Outcome.UNKNOWN:
            return any(each.value in self.visible for each in transaction.appends)
        return transaction.outcome is Outcome.COMMITTED

    @cached_property
    def final_positions(self) -> dict[GroupPartition, int]:
        return {
            (each.group, each.partition): each.offset for each in self.positions if each.is_final
        }

    def positions_over_time(self) -> Iterator[tuple[GroupPartition, list[Position]]]:
        def place(each: Position) -> GroupPartition:
            return each.group, each.partition

        ordered = sorted(self.positions, key=lambda each: (place(each), each.at))
        for key, positions in groupby(ordered, place):
            yield key, list(positions)


def by_partition(records: Iterable[Record]) -> dict[Partition, list[Record]]:
    """The records of each partition, in the order in which they came."""
    found: dict[Partition, list[Record]] = defaultdict(list)
    for each in records:
        found[each.partition].append(each)
    return found


def by_place(records: Iterable[Record]) -> dict[Place, str]:
    return {(each.partition, each.offset): each.value for each in records}
