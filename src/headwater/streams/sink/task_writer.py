"""One task writes its rows: once, however often it runs.

The rows and the marker that tells of them are one transaction. A task that runs again reads the marker
first: what is written is compared and skipped. A task that takes long commits in parts, so that no
transaction outlives its timeout; the marker then tells how far it came. Readers see a batch task by task.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final, NamedTuple

import pyarrow as pa

from headwater.clock import Clock, SystemClock
from headwater.streams.sink.fingerprint import Fingerprint
from headwater.streams.sink.marker import (
    Done,
    Marker,
    Writer,
    refuse_other_order,
    refuse_other_rows,
)
from headwater.streams.sink.options import SinkOptions
from headwater.streams.sink.presence import to_do
from headwater.streams.sink.records import records_of
from headwater.streams.sink.transaction import Transactions

LONGEST_PART_S: Final = 60.0


def write_task(
    rows: Iterable[pa.RecordBatch],
    options: SinkOptions,
    writer: Writer,
    batch_id: int,
    clock: Clock | None = None,
) -> int:
    """Write the rows of one task of one batch, unless they are written; returns how many there are."""
    clock = clock or SystemClock()
    batches = _timed((records_of(each, options) for each in rows if each.num_rows), clock)
    first = next(batches, None)
    if first is None:
        return 0
    with Transactions(options.log, writer, clock) as transactions:
        decision = to_do(transactions.cluster, options, writer, batch_id)
        task = _Task(transactions, writer, batch_id, topic=first.records["topic"][0].as_py())
        all_batches = chain([first], batches)
        if isinstance(decision, Done):
            return task.compare(all_batches, decision.written)
        return task.write(all_batches, decision.after)


class _Timed(NamedTuple):
    records: pa.RecordBatch
    waited_s: float
    """How long it took to make them."""


def _timed(batches: Iterable[pa.RecordBatch], clock: Clock) -> Iterator[_Timed]:
    asked_s = clock.monotonic_s()
    for records in batches:
        yield _Timed(records, clock.monotonic_s() - asked_s)
        asked_s = clock.monotonic_s()


class _Task:
    def __init__(
        self, transactions: Transactions, writer: Writer, batch_id: int, topic: str
    ) -> None:
        self._transactions = transactions
        self._writer = writer
        self._batch_id = batch_id
        self._topic = topic
        self._longest_s = min(LONGEST_PART_S, transactions.timeout_s / 3)

    def compare(self, batches: Iterable[_Timed], written: Fingerprint) -> int:
        """All is written: make sure that it is the same."""
        seen = Fingerprint()
        for records, _ in batches:
            seen = seen.with_records(records)
        refuse_other_rows(written, seen, self._batch_id, self._writer)
        return seen.rows

    def write(self, batches: Iterable[_Timed], after: Fingerprint) -> int:
        """Write what comes after the rows that an earlier attempt has committed."""
        seen = Fingerprint()
        for records, waited_s in batches:
            skipped = records.slice(0, max(0, after.rows - seen.rows))
            if skipped.num_rows:
                seen = self._skip(skipped, seen, after)
            rest = records.slice(skipped.num_rows)
            if rest.num_rows:
                self._transactions.write(rest)
                seen = seen.with_records(rest)
                # The next rows may take as long to come as these did.
                if max(waited_s, self._transactions.age_s) > self._longest_s:
                    self._commit(Marker(self._batch_id, seen, is_part=True))
        if seen.rows < after.rows:
            refuse_other_order(after, seen, self._batch_id, self._writer)
        self._commit(Marker(self._batch_id + 1, seen))
        return seen.rows

    def _skip(self, skipped: pa.RecordBatch, seen: Fingerprint, after: Fingerprint) -> Fingerprint:
        seen = seen.with_records(skipped)
        if seen.rows == after.rows:
            refuse_other_order(after, seen, self._batch_id, self._writer)
        return seen

    def _commit(self, marker: Marker) -> None:
        self._transactions.commit(marker, self._topic)
