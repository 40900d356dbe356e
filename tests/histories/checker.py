"""Judge a history of transactions: a pure function from what was seen to what is wrong with it.

Each rule looks for one way to break the promise of transactions. A commit with an unknown result may have
happened or not, but in full: no rule holds one of these against the broker, and none lets half of one pass.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import Final

from histories.evidence import Evidence, GroupPartition, Place, by_partition, by_place
from histories.history import History, Isolation, Outcome, Partition, Position, Record, Transaction


class Kind(StrEnum):
    LOST_WRITE = "lost write"
    TORN = "torn transaction"
    ABORTED_READ = "aborted read"
    OPEN_READ = "open read"
    DUPLICATE = "duplicate"
    REORDERED = "reordered"
    WENT_BACK = "offset went back"
    MISSED_READ = "missed read"
    SEEN_THEN_GONE = "seen then gone"
    THIN_AIR = "out of thin air"
    PROCESSED_TWICE = "processed twice"
    SKIPPED_INPUT = "skipped input"
    HANGING = "hanging transaction"


@dataclass(frozen=True)
class Anomaly:
    kind: Kind
    what: str


def check(history: History) -> list[Anomaly]:
    """Everything that no sequence of whole transactions could explain."""
    evidence = Evidence(history)
    return [Anomaly(kind, what) for kind, rule in RULES for what in rule(evidence)]


def lost_writes(evidence: Evidence) -> Iterator[str]:
    for each in evidence.transactions:
        values = {append.value for append in each.appends}
        if each.outcome is Outcome.COMMITTED and values and not values & evidence.visible:
            yield f"{each.id} is committed, and nothing of it can be read"


def torn_transactions(evidence: Evidence) -> Iterator[str]:
    for each in evidence.transactions:
        if not evidence.is_effective(each):
            continue
        missing = [one.value for one in each.appends if one.value not in evidence.visible]
        if 0 < len(missing) < len(each.appends):
            yield f"{each.id} ({each.outcome}) can be read without {missing}"
        yield from _lost_offsets(evidence, each)


def _lost_offsets(evidence: Evidence, transaction: Transaction) -> Iterator[str]:
    for partition, offset in transaction.offsets:
        assert transaction.group is not None
        position = evidence.final_positions.get((transaction.group, partition), 0)
        if position < offset:
            yield (
                f"{transaction.id} ({transaction.outcome}) took {transaction.group} to {offset} of "
                f"{partition}, but it stands at {position}"
            )


def aborted_reads(evidence: Evidence) -> Iterator[str]:
    for reader, record in _committed_reads(evidence):
        written = evidence.written.get(record.value)
        if written and written.transaction.outcome is Outcome.ABORTED:
            yield f"{reader} read {record.value} of {written.transaction.id}, which was aborted"
    for value in evidence.visible & evidence.written.keys():
        source = evidence.written[value].append.source
        origin = evidence.written.get(source) if source else None
        if origin and origin.transaction.outcome is Outcome.ABORTED:
            yield f"{value} was made from {source} of {origin.transaction.id}, which was aborted"


def open_reads(evidence: Evidence) -> Iterator[str]:
    for reader, record in _committed_reads(evidence):
        written = evidence.written.get(record.value)
        asked_at = written.transaction.commit_asked_at if written else None
        if asked_at is not None and record.at < asked_at:
            yield f"{reader} read {record.value} before its transaction asked for its commit"
    steps = _steps(evidence)
    for each in evidence.positions:
        due = [
            offset for asked_at, offset in steps[each.group, each.partition] if asked_at <= each.at
        ]
        if each.offset > max(due, default=0):
            yield f"{_told(each)} before a transaction asked for that"


def _steps(evidence: Evidence) -> dict[GroupPartition, list[tuple[float, int]]]:
    """When each group was sent where."""
    steps: dict[GroupPartition, list[tuple[float, int]]] = defaultdict(list)
    for each in evidence.transactions:
        if each.group is not None and each.commit_asked_at is not None:
            for partition, offset in each.offsets:
                steps[each.group, partition].append((each.commit_asked_at, offset))
    return steps


def duplicates(evidence: Evidence) -> Iterator[str]:
    places: dict[str, set[Place]] = defaultdict(set)
    for reading in evidence.readings:
        for each in reading.records:
            places[each.value].add((each.partition, each.offset))
    for value, found in places.items():
        if len(found) > 1:
            yield f"{value} stands at {sorted(found)}"


def reordered(evidence: Evidence) -> Iterator[str]:
    for reading in evidence.readings:
        if reading.is_final:
            yield from _out_of_writing_order(evidence, reading.records)
    yield from _out_of_input_order(evidence)


def _out_of_writing_order(evidence: Evidence, records: tuple[Record, ...]) -> Iterator[str]:
    last: dict[tuple[str, Partition], tuple[int, str]] = {}
    for each in _in_log_order(records):
        if written := evidence.written.get(each.value):
            key = (written.transaction.writer, each.partition)
            before = last.get(key, (-1, ""))
            if written.number < before[0]:
                yield f"{each.value} was sent before {before[1]} and stands behind it"
            last[key] = max(before, (written.number, each.value))


def _out_of_input_order(evidence: Evidence) -> Iterator[str]:
    """What a group makes of one partition stands in the order of that partition."""
    inputs = {each.value: each for each in evidence.committed}
    last: dict[tuple[str | None, Partition, Partition], int] = defaultdict(lambda: -1)
    for each in _in_log_order(evidence.committed):
        written = evidence.written.get(each.value)
        origin = inputs.get(written.append.source or "") if written else None
        if written and origin:
            key = (written.transaction.group, origin.partition, each.partition)
            if origin.offset < last[key]:
                yield f"{each.value} was made from {origin.value} and stands behind later ones"
            last[key] = max(last[key], origin.offset)


def offsets_going_back(evidence: Evidence) -> Iterator[str]:
    for reading in evidence.readings:
        for partition, records in by_partition(reading.records).items():
            for before, after in pairwise(records):
                if after.offset <= before.offset:
                    yield f"{reading.reader} went from {before.offset} to {after.offset} of {partition}"
    for _, positions in evidence.positions_over_time():
        for earlier, later in pairwise(positions):
            if later.offset < earlier.offset:
                yield f"{_told(later)} after {earlier.offset}"


def missed_reads(evidence: Evidence) -> Iterator[str]:
    for reading in evidence.readings:
        final = evidence.final(reading.isolation)
        if final is None:
            continue
        got = by_partition(reading.records)
        for partition, records in by_partition(final.records).items():
            seen = {each.offset for each in got[partition]}
            for each in records:
                is_due = reading.is_final or each.offset <= max(seen, default=-1)
                if is_due and each.offset not in seen:
                    yield f"{reading.reader} was not given {each.value} at {each.offset}"
    if log := evidence.final(Isolation.READ_UNCOMMITTED):
        for place, value in by_place(evidence.committed).items() - by_place(log.records).items():
            yield f"{log.reader} was not given {value} at {place}, which is committed"


def seen_then_gone(evidence: Evidence) -> Iterator[str]:
    for reading in evidence.readings:
        final = evidence.final(reading.isolation)
        if final is None:
            continue
        stands = by_place(final.records)
        for each in reading.records:
            written = evidence.written.get(each.value)
            is_aborted = written and written.transaction.outcome is Outcome.ABORTED
            if reading.isolation is Isolation.READ_COMMITTED and is_aborted:
                continue
            now = stands.get((each.partition, each.offset))
            if now != each.value:
                yield f"{reading.reader} read {each.value} at {each.offset}, where now is {now}"


def out_of_thin_air(evidence: Evidence) -> Iterator[str]:
    for reading in evidence.readings:
        for each in reading.records:
            written = evidence.written.get(each.value)
            if written is None or written.append.partition != each.partition:
                yield f"{reading.reader} read {each.value} in {each.partition}: nobody wrote it there"


def processed_twice(evidence: Evidence) -> Iterator[str]:
    for group, made in _made(evidence).items():
        for source, times in made.items():
            if times > 1:
                yield f"{group} made {times} values from {source}"


def skipped_input(evidence: Evidence) -> Iterator[str]:
    made = _made(evidence)
    inputs = by_partition(evidence.committed)
    for (group, partition), position in evidence.final_positions.items():
        for each in inputs.get(partition, ()):
            if each.offset < position and not made[group][each.value]:
                yield f"{group} stands at {position} of {partition} and made nothing from {each.value}"


def _made(evidence: Evidence) -> dict[str, Counter[str]]:
    """How many visible values each group made from each input value."""
    made: dict[str, Counter[str]] = defaultdict(Counter)
    for value in evidence.visible & evidence.written.keys():
        transaction, append, _ = evidence.written[value]
        if transaction.group is not None and append.source is not None:
            made[transaction.group][append.source] += 1
    return made


def hanging_transactions(evidence: Evidence) -> Iterator[str]:
    for each in evidence.ends:
        if each.last_stable < each.high_watermark:
            yield f"{each.partition} is stable up to {each.last_stable} of {each.high_watermark}"


def _committed_reads(evidence: Evidence) -> Iterator[tuple[str, Record]]:
    for reading in evidence.readings:
        if reading.isolation is Isolation.READ_COMMITTED:
            for each in reading.records:
                yield reading.reader, each


def _in_log_order(records: tuple[Record, ...]) -> list[Record]:
    return sorted(records, key=lambda each: (each.partition, each.offset))


def _told(position: Position) -> str:
    return f"{position.group} stood at {position.offset} of {position.partition}"


RULES: Final[tuple[tuple[Kind, Callable[[Evidence], Iterator[str]]], ...]] = (
    (Kind.LOST_WRITE, lost_writes),
    (Kind.TORN, torn_transactions),
    (Kind.ABORTED_READ, aborted_reads),
    (Kind.OPEN_READ, open_reads),
    (Kind.DUPLICATE, duplicates),
    (Kind.REORDERED, reordered),
    (Kind.WENT_BACK, offsets_going_back),
    (Kind.MISSED_READ, missed_reads),
    (Kind.SEEN_THEN_GONE, seen_then_gone),
    (Kind.THIN_AIR, out_of_thin_air),
    (Kind.PROCESSED_TWICE, processed_twice),
    (Kind.SKIPPED_INPUT, skipped_input),
    (Kind.HANGING, hanging_transactions),
)
