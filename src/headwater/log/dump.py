"""The batches in a partition's files, in order, for people."""

from collections.abc import Iterator
from pathlib import Path

from headwater.log.disk import Disk
from headwater.log.names import log_bases
from headwater.log.segment import Segment
from headwater.wire.markers import decode_marker
from headwater.wire.record_batch import BatchHeader

Placed = tuple[tuple[int, BatchHeader], memoryview]


def batches(disk: Disk, directory: Path, first: int) -> Iterator[Placed] | None:
    """Return ((position, header), bytes) of each batch that reaches to `first`; None: no partition."""
    bases = log_bases(disk.names(directory))
    return _batches(disk, directory, bases, first) if bases else None


def _batches(disk: Disk, directory: Path, bases: list[int], first: int) -> Iterator[Placed]:
    for base_offset, following in zip(bases, [*bases[1:], 1 << 62], strict=True):
        if following <= first:
            continue
        segment = Segment(disk, directory, base_offset)
        segment.is_sparse = True  # Compacted or not: this is for people, gaps and all.
        for position, header, batch in segment.scan(0, disk.size(segment.path), base_offset):
            if header.last_offset >= first:
                yield (position, header), batch


def role(header: BatchHeader, batch: memoryview) -> str | None:
    """What a batch is to a transaction: part of it, or its end; None if it belongs to none."""
    if not header.is_control:
        return "part" if header.is_transactional else None
    marker = decode_marker(batch)
    if marker is None:
        return "marker"
    return "commit" if marker.is_commit else "abort"
