"""Check every file of a data directory against its checksum, without changing anything."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final

from headwater.errors import Corruption
from headwater.log.aborted import AbortedIndex
from headwater.log.disk import Disk
from headwater.log.index import Index
from headwater.log.names import log_bases, snapshot_offsets, snapshot_path
from headwater.log.producers import Producers
from headwater.log.recovery import Damage, missing_start
from headwater.log.segment import Segment
from headwater.log.state import (
    RECOVERY_POINT_NAME,
    STATE_NAME,
    PartitionState,
    is_recovery_point_readable,
    read_recovery_point,
    read_state,
)
from headwater.wire.record_batch import BatchHeader

_PARTITION: Final = re.compile(r".+-\d+")


@dataclass(slots=True)
class Report:
    """What was found in one partition."""

    partition: str
    segments: int = 0
    batches: int = 0
    records: int = 0
    markers: int = 0
    """Batches that end transactions; what is in them is not counted as records."""
    size_bytes: int = 0
    first_offset: int = 0
    next_offset: int = 0
    recovery_point: int = 0
    damage: list[Damage] = field(default_factory=list)
    unfinished_bytes: int = 0
    """A torn tail that was never acknowledged: the next start cuts it. Not damage."""

    @property
    def is_sound(self) -> bool:
        return not self.damage


def partition_directories(disk: Disk, data: Path) -> list[Path]:
    """Return the directories under `data` that hold a partition; what else lies there is not looked at."""
    found = [data / name for name in disk.names(data) if _PARTITION.fullmatch(name)]
    return [each for each in found if each.is_dir() and _has_held_records(disk, each)]


def _has_held_records(disk: Disk, directory: Path) -> bool:
    """Whether there are segments, or should be."""
    return bool(log_bases(disk.names(directory))) or read_recovery_point(disk, directory) > 0


def verify(disk: Disk, directory: Path) -> Report:
    """Read every batch of one partition and every small file beside it."""
    report = Report(directory.name)
    names = disk.names(directory)
    state = _verified_state(disk, directory, report)
    _verify_recovery_point(disk, directory, report)
    bases = log_bases(names)
    _verify_start(directory, bases, state, report)
    for base_offset, following in pairwise([*bases, None]):
        segment = Segment(disk, directory, base_offset or 0)
        segment.is_sparse = segment.base_offset < state.sparse_to
        _verify_segment(segment, following, state, report)
        _check(report, segment.index_path, disk, Index.decode)
        _check(report, segment.aborted_path, disk, AbortedIndex.decode)
    for offset in snapshot_offsets(names):
        _check(report, snapshot_path(directory, offset), disk, Producers.decode)
    return report


def _verified_state(disk: Disk, directory: Path, report: Report) -> PartitionState:
    try:
        return read_state(disk, directory) or PartitionState()
    except Corruption as error:
        report.damage.append(Damage(directory / STATE_NAME, 0, report.first_offset, error.what))
        return PartitionState()


def _verify_recovery_point(disk: Disk, directory: Path, report: Report) -> None:
    path = directory / RECOVERY_POINT_NAME
    data = disk.read_bytes(path)
    report.recovery_point = read_recovery_point(disk, directory)
    if data and not is_recovery_point_readable(data):
        report.damage.append(Damage(path, 0, 0, "it has no slot that can be read"))


def _verify_start(directory: Path, bases: list[int], state: PartitionState, report: Report) -> None:
    """Look whether the first segment is there."""
    start = state.log_start_offset
    first = bases[0] if bases else max(start, report.recovery_point)
    report.first_offset = report.next_offset = first
    if start < min(first, report.recovery_point):
        report.damage.append(Damage(directory, 0, start, missing_start(start, first)))


def _verify_segment(
    segment: Segment, following: int | None, state: PartitionState, report: Report
) -> None:
    """Read all of a segment, and look whether it reaches to where the next one begins."""
    segment.size = segment.file.size()
    report.segments += 1
    report.size_bytes += segment.size
    damaged = len(report.damage)
    for found in scan_past_damage(segment, following or report.recovery_point):
        if isinstance(found, Damage):
            report.damage.append(found)
        elif isinstance(found, int):
            report.unfinished_bytes += found
        else:
            report.batches += 1
            report.markers += found.is_control
            report.records += 0 if found.is_control else found.record_count
    report.next_offset = max(report.next_offset, segment.next_offset)
    due = report.recovery_point if following is None else following
    is_gone = due <= state.log_start_offset
    if segment.next_offset < due and not is_gone and len(report.damage) == damaged:
        reason = f"it ends at offset {segment.next_offset}, but should reach to {due}"
        report.damage.append(Damage(segment.path, segment.size, segment.next_offset, reason))


def scan_past_damage(segment: Segment, recovery_point: int) -> Iterator[BatchHeader | Damage | int]:
    """Yield the header of each good batch, each damage, and the bytes of a torn tail."""
    position, expected = 0, segment.base_offset
    while position < segment.size:
        try:
            for at, header, _ in segment.scan(position, segment.size, expected):
                position, expected = at + header.size, header.next_offset
                segment.next_offset = expected
                yield header
        except Corruption as error:
            if expected >= recovery_point:
                yield segment.size - position
                return
            yield Damage(segment.path, position, expected, error.what)
            resumed = segment.next_batch(position + 1, segment.size, expected)
            if resumed is None:
                return
            position, expected = resumed


def _check(report: Report, path: Path, disk: Disk, decode: object) -> None:
    data = disk.read_bytes(path)
    if data is None:
        return
    try:
        decode(data)  # type: ignore[operator]
    except Corruption as error:
        report.damage.append(Damage(path, 0, report.next_offset, error.what))
