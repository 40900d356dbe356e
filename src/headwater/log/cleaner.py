"""Rewrite segments so that only the latest committed record of each key is left. Offsets never change.

A pure function of files: it reads sealed segments and writes one new file beside them; the log takes it
over later (`compaction.py`). Large jobs run it as a process of its own (`python -m headwater.log.cleaner`),
so that it never competes with the broker for Python's lock.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from hashlib import blake2b
from pathlib import Path

from headwater.log.disk import Disk, LocalDisk
from headwater.log.segment import Segment
from headwater.wire import compression
from headwater.wire.record_batch import (
    CODEC_MASK,
    HAS_DELETE_HORIZON,
    HEADER,
    HEADER_SIZE,
    LENGTH_OVERHEAD,
    BatchHeader,
    with_fresh_crc,
)
from headwater.wire.records import RawRecord, plain_body, read_varint, scan_records, varint

WRITE_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class CleanerJob:
    """What to clean; plain data, so that it can be sent to another process."""

    directory: str
    segments: list[tuple[int, int]]
    """(base offset, size in bytes) of neighbouring sealed segments, merged into one."""
    dirty: list[tuple[int, int]]
    """(base offset, size in bytes) of the segments whose keys decide."""
    dirty_from: int
    """Records before this offset are clean already: they decide nothing."""
    dirty_to: int
    """Records from this offset on are for a later pass: they decide nothing, and stay as they are."""
    now_ms: int
    delete_retention_ms: int
    kept_producer_offsets: dict[int, int]
    """Last offset of each producer: its batch stays, even empty, so that sequences go on."""
    marker_epochs: dict[int, int]
    """Epoch of each producer of which only an end marker is left: it stays, so that fencing goes on."""
    end_offset: int
    """Where the segments end: their last batch stays, even empty, so that lost bytes are noticed."""
    aborted: list[tuple[int, int, int]]
    """(producer id, first offset, offset of the marker) of aborted transactions: their records go."""
    unended: list[int] = field(default_factory=list)
    """Producers with a transaction that began before these segments."""


@dataclass(frozen=True, slots=True)
class Cleaned:
    """A finished rewrite, synced, under the name `<base>.cleaned`."""

    name: str
    size: int
    read_bytes: int
    records_kept: int
    records_dropped: int
    unended: list[int]
    """Producers with a transaction that ends after these segments."""


def clean(job: CleanerJob, disk: Disk) -> Cleaned:
    """Write the cleaned form of `job.segments`; nothing of the log itself is touched."""
    directory = Path(job.directory)
    transactions = _Transactions(job)
    latest = _latest_offsets(job, transactions, disk, directory)
    name = f"{job.segments[0][0]:020d}.cleaned"
    disk.remove(directory / name)
    file = disk.open(directory / name)
    read_bytes = kept = dropped = size = 0
    pending: list[bytes | memoryview] = []
    pending_bytes = 0
    for header, batch in _batches(disk, directory, job.segments):
        rewritten, kept_here = _cleaned(header, batch, latest, job, transactions)
        read_bytes += header.size
        kept += kept_here
        dropped += header.record_count - kept_here
        if rewritten:
            pending.append(rewritten)
            pending_bytes += len(rewritten)
        if pending_bytes >= WRITE_BYTES:
            size += file.append(pending)
            pending, pending_bytes = [], 0
    if pending:
        size += file.append(pending)
    file.sync()
    file.close()
    return Cleaned(name, size, read_bytes, kept, dropped, transactions.unended)


def _cleaned(
    header: BatchHeader,
    batch: memoryview,
    latest: dict[bytes, int],
    job: CleanerJob,
    transactions: "_Transactions",
) -> tuple[bytes | memoryview, int]:
    """Return the batch as it stays, empty if it goes, and how many of its records are kept."""
    is_later = header.base_offset >= job.dirty_to
    if header.is_control:
        has_records = transactions.end(header)
        if not is_later:
            return _rewrite_marker(header, batch, job, has_records=has_records)
    else:
        is_aborted = transactions.read(header)
        if not is_later:
            return _rewrite(header, batch, latest, job, is_aborted=is_aborted)
    return batch, header.record_count


class _Transactions:
    """Follows the transactions in the segments from batch to batch."""

    def __init__(self, job: CleanerJob) -> None:
        self._aborted: dict[int, list[tuple[int, int]]] = {}
        for producer_id, first, last in job.aborted:
            self._aborted.setdefault(producer_id, []).append((first, last))
        self._unended = set(job.unended)

    @property
    def unended(self) -> list[int]:
        return sorted(self._unended)

    def is_aborted(self, header: BatchHeader) -> bool:
        return header.is_transactional and any(
            first <= header.base_offset <= last
            for first, last in self._aborted.get(header.producer_id, ())
        )

    def read(self, header: BatchHeader) -> bool:
        """Note a batch of records; returns whether its transaction was aborted."""
        if header.is_transactional:
            self._unended.add(header.producer_id)
        return self.is_aborted(header)

    def end(self, header: BatchHeader) -> bool:
        """Note an end marker; returns whether batches of its transaction are left."""
        has_records = header.producer_id in self._unended
        self._unended.discard(header.producer_id)
        return has_records


def _batches(
    disk: Disk, directory: Path, segments: list[tuple[int, int]]
) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Read every batch; a damaged one raises `Corruption`, so that it is never cleaned away."""
    for base_offset, size in segments:
        segment = Segment(disk, directory, base_offset)
        segment.is_sparse = True
        for _, header, batch in segment.scan(0, size, base_offset):
            yield header, batch


def _latest_offsets(
    job: CleanerJob, transactions: _Transactions, disk: Disk, directory: Path
) -> dict[bytes, int]:
    latest: dict[bytes, int] = {}
    for header, batch in _batches(disk, directory, job.dirty):
        is_dirty = header.next_offset > job.dirty_from and header.base_offset < job.dirty_to
        if not is_dirty or header.is_control or transactions.is_aborted(header):
            continue
        body = memoryview(plain_body(header, batch))
        for record in scan_records(header, body):
            if record.key is not None:
                latest[_digest(record.key)] = header.base_offset + record.offset_delta
    return latest


def _digest(key: bytes) -> bytes:
    """Long keys are remembered by their hash, so that memory depends on their number only."""
    return key if len(key) <= 16 else blake2b(key, digest_size=20).digest()


def _rewrite(
    header: BatchHeader,
    batch: memoryview,
    latest: dict[bytes, int],
    job: CleanerJob,
    *,
    is_aborted: bool,
) -> tuple[bytes | memoryview, int]:
    horizon = header.delete_horizon_ms
    keeps_tombstones = horizon is None or job.now_ms < horizon
    body = memoryview(plain_body(header, batch))
    records = [] if is_aborted else scan_records(header, body)
    kept = [
        each
        for each in records
        if each.key is not None
        and latest.get(_digest(each.key), -1) <= header.base_offset + each.offset_delta
        and (keeps_tombstones or not each.is_tombstone)
    ]
    if not kept:
        is_kept = (
            header.next_offset == job.end_offset
            or job.kept_producer_offsets.get(header.producer_id) == header.last_offset
        )
        return (_emptied(header) if is_kept else b""), 0
    needs_horizon = horizon is None and any(each.is_tombstone for each in kept)
    if len(kept) == header.record_count and not needs_horizon:
        return batch, len(kept)
    if needs_horizon:
        return _with_horizon(header, body, kept, job), len(kept)
    plain = b"".join(bytes(body[each.start : each.end]) for each in kept)
    return _batch(header, plain, len(kept)), len(kept)


def _rewrite_marker(
    header: BatchHeader, batch: memoryview, job: CleanerJob, *, has_records: bool
) -> tuple[bytes | memoryview, int]:
    """Return the end marker as it stays, empty if it goes.

    It goes when nothing of its transaction is left, when readers have had time to see it, and when it is
    not the last that is known of its producer. Without it the records would belong to an open transaction.
    """
    is_needed = (
        has_records
        or header.next_offset == job.end_offset
        or job.marker_epochs.get(header.producer_id) == header.producer_epoch
    )
    horizon = header.delete_horizon_ms
    if is_needed or (horizon is not None and job.now_ms < horizon):
        return batch, header.record_count
    if horizon is not None:
        return b"", 0
    body = memoryview(plain_body(header, batch))
    return _with_horizon(header, body, scan_records(header, body), job), header.record_count


def _with_horizon(
    header: BatchHeader, body: memoryview, kept: list[RawRecord], job: CleanerJob
) -> bytes:
    """Note in the batch when its tombstones or its marker may go.

    As Kafka does it (KIP-534), in the base timestamp.
    """
    horizon_ms = job.now_ms + job.delete_retention_ms
    shift = header.base_timestamp - horizon_ms
    parts = []
    for each in kept:
        _, position = read_varint(body, each.start)
        _, after_delta = read_varint(body, position + 1)
        record = (
            bytes(body[position : position + 1])
            + varint(each.timestamp_delta + shift)
            + bytes(body[after_delta : each.end])
        )
        parts.append(varint(len(record)) + record)
    changed = header._replace(
        base_timestamp=horizon_ms, attributes=header.attributes | HAS_DELETE_HORIZON
    )
    return _batch(changed, b"".join(parts), len(kept))


def _emptied(header: BatchHeader) -> bytes:
    """What is left is no compressed nothing: librdkafka ends its process over that."""
    return _batch(header._replace(attributes=header.attributes & ~CODEC_MASK), b"", 0)


def _batch(header: BatchHeader, plain: bytes, count: int) -> bytes:
    body = compression.compress(header.codec, plain)
    changed = header._replace(
        length=HEADER_SIZE - LENGTH_OVERHEAD + len(body), record_count=count, crc=0
    )
    return HEADER.pack(*with_fresh_crc(changed, body)) + body


def main() -> None:
    """Run one job from standard input, in a process of its own."""
    fields = json.load(sys.stdin)
    fields["segments"] = [tuple(each) for each in fields["segments"]]
    fields["dirty"] = [tuple(each) for each in fields["dirty"]]
    fields["aborted"] = [tuple(each) for each in fields["aborted"]]
    for name in ("kept_producer_offsets", "marker_epochs"):
        fields[name] = {int(producer): each for producer, each in fields[name].items()}
    json.dump(asdict(clean(CleanerJob(**fields), LocalDisk())), sys.stdout)


if __name__ == "__main__":
    main()
