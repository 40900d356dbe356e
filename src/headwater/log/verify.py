"""Check every file of a data directory against its checksum, without changing anything."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from headwater.errors import Corruption
from headwater.log.disk import Disk
from headwater.log.index import Index
from headwater.log.names import log_bases, snapshot_offsets, snapshot_path
from headwater.log.producers import Producers
from headwater.log.recovery import Damage
from headwater.log.segment import Segment
from headwater.log.state import STATE_NAME, read_recovery_point, read_state


@dataclass(slots=True)
class Report:
    """What was found in one partition."""

    partition: str
    segments: int = 0
    batches: int = 0
    records: int = 0
    size_bytes: int = 0
    first_offset: int = 0
    next_offset: int = 0
    damage: list[Damage] = field(default_factory=list)
    unfinished_bytes: int = 0
    """A torn tail that was never acknowledged: the next start cuts it. Not damage."""

    @property
    def is_sound(self) -> bool:
        return not self.damage


def partition_directories(disk: Disk, data: Path) -> list[Path]:
    """Return the directories under `data` that hold a partition."""
    found = [data / name for name in disk.names(data) if not name.endswith(".deleted")]
    return [each for each in found if each.is_dir() and log_bases(disk.names(each))]


def verify(disk: Disk, directory: Path) -> Report:
    """Read every batch of one partition and every small file beside it."""
    report = Report(directory.name)
    recovery_point = read_recovery_point(disk, directory)
    names = disk.names(directory)
    bases = log_bases(names)
    report.first_offset = report.next_offset = bases[0]
    for base_offset in bases:
        segment = Segment(disk, directory, base_offset)
        segment.size = disk.size(segment.path)
        report.segments += 1
        report.size_bytes += segment.size
        is_last = base_offset == bases[-1]
        _check_segment(segment, report, recovery_point if is_last else 1 << 62)
        _check(report, segment.index_path, disk, Index.decode)
    for offset in snapshot_offsets(names):
        _check(report, snapshot_path(directory, offset), disk, Producers.decode)
    try:
        read_state(disk, directory)
    except Corruption as error:
        report.damage.append(Damage(directory / STATE_NAME, 0, report.first_offset, error.what))
    return report


def _check_segment(segment: Segment, report: Report, recovery_point: int) -> None:
    for found in scan_past_damage(segment, recovery_point):
        if isinstance(found, Damage):
            report.damage.append(found)
        elif found < 0:
            report.unfinished_bytes -= found
        else:
            report.batches += 1
            report.records += found
    report.next_offset = max(report.next_offset, segment.next_offset)


def scan_past_damage(segment: Segment, recovery_point: int) -> Iterator[Damage | int]:
    """Yield the record count of each good batch, each damage, and a torn tail as minus its bytes."""
    position, expected = 0, segment.base_offset
    while position < segment.size:
        try:
            for at, header, _ in segment.scan(position, segment.size, expected):
                position, expected = at + header.size, header.next_offset
                segment.next_offset = expected
                yield header.record_count
        except Corruption as error:
            if expected >= recovery_point:
                yield position - segment.size
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
