"""Producers that write to a log in transactions, and a model of what readers may see."""

from dataclasses import dataclass, field

from headwater.log.aborted import AbortedTransaction
from headwater.log.partition import PartitionLog
from headwater.wire.markers import decode_marker
from headwater.wire.record_batch import ProducerIdAndEpoch, iterate_headers
from headwater.wire.records import Record, decode_batch
from log.batches import KeyValue, Sender, batch

OLD, NEW = 0, 2


@dataclass
class Writer:
    """A transactional producer of one partition, of transaction version 0 or 2."""

    log: PartitionLog
    producer_id: int
    version: int = NEW
    epoch: int = 0
    sequence: int = 0

    def send(self, *records: KeyValue, codec: int = 0) -> int:
        """Write in the transaction, and return the offset of the first record."""
        sent = batch(
            records,
            Sender(self.producer_id, self.epoch, self.sequence),
            codec=codec,
            time_ms=self.log.clock.now_ms(),
            is_transactional=True,
        )
        appended = self.log.append(sent, transaction_version=self.version)
        self.sequence += len(records)
        return appended.base_offset

    def end(self, *, is_commit: bool, coordinator_epoch: int = 0) -> int:
        """End the transaction, and return the offset of the marker."""
        if self.version == NEW:
            self.epoch, self.sequence = self.epoch + 1, 0
        appended = self.log.end_transaction(
            ProducerIdAndEpoch(self.producer_id, self.epoch),
            is_commit=is_commit,
            coordinator_epoch=coordinator_epoch,
            transaction_version=self.version,
        )
        return appended.base_offset

    def commit(self) -> int:
        return self.end(is_commit=True)

    def abort(self) -> int:
        return self.end(is_commit=False)


@dataclass
class Model:
    """What was written, by offset, and how each transaction has ended."""

    records: dict[int, KeyValue] = field(default_factory=dict)
    transactions: dict[int, int] = field(default_factory=dict)
    """Offset of a record -> offset of the first record of its transaction."""
    ends: dict[int, tuple[int, bool]] = field(default_factory=dict)
    """First offset of a transaction -> (offset of its marker, whether it was committed)."""

    def last_stable_offset(self, high_watermark: int) -> int:
        unstable = [
            first
            for first in set(self.transactions.values())
            if first < high_watermark
            and self.ends.get(first, (high_watermark, True))[0] >= high_watermark
        ]
        return min([*unstable, high_watermark])

    def committed(self, start: int, end: int) -> dict[int, KeyValue]:
        """The records in a range that belong to no transaction, or to one that was committed."""
        return {
            offset: record
            for offset, record in self.records.items()
            if start <= offset < end
            and (offset not in self.transactions or self.ends[self.transactions[offset]][1])
        }


def committed_records(log: PartitionLog, max_bytes: int = 300) -> list[Record]:
    """Read as Kafka's `read_committed` consumers do: small fetches, with the answers' aborted lists."""
    limit = log.last_stable_offset
    offset = log.log_start_offset
    found: list[Record] = []
    while offset < limit:
        chunk = log.read(offset, max_bytes, limit)
        assert chunk, f"an empty answer at offset {offset} of {limit}"
        aborted = log.aborted_in(chunk, limit)
        found += [each for each in delivered(chunk, aborted) if each.offset >= offset]
        offset = max(header.next_offset for _, header in iterate_headers(chunk))
        assert offset <= limit, "a reader passed the last stable offset"
    return found


def delivered(chunk: memoryview, aborted: list[AbortedTransaction]) -> list[Record]:
    """What a consumer hands on of one answer."""
    due = sorted(aborted, key=lambda each: each.first_offset)
    assert due == aborted, "aborted transactions come in the order in which they begin"
    skipped: set[int] = set()
    delivered: list[Record] = []
    for position, header in iterate_headers(chunk):
        view = chunk[position : position + header.size]
        while due and due[0].first_offset <= header.last_offset:
            skipped.add(due.pop(0).producer_id)
        if header.is_control:
            marker = decode_marker(view)
            if marker is not None and not marker.is_commit:
                skipped.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in skipped):
            delivered += decode_batch(view)
    assert not due, "an aborted transaction was listed that has no records here"
    return delivered
