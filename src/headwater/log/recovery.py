"""From files to a log that can be trusted: what a crash left unfinished is cut, damage is kept and named.

The rule: bytes at or after the recovery point were never acknowledged, so a batch there that is not whole
is a torn tail and goes. A bad batch before it was acknowledged: it stays, is reported, and never served.
"""

from dataclasses import dataclass, field
from pathlib import Path

from headwater.errors import Corruption
from headwater.log.disk import Disk
from headwater.log.index import Index
from headwater.log.names import Swap, log_bases, snapshot_offsets, snapshot_path
from headwater.log.producers import Producers
from headwater.log.segment import Segment
from headwater.log.state import read_recovery_point
from headwater.wire.record_batch import checked_header, is_frame

RESYNC_BYTES = 64 << 20
_UNFINISHED = (".tmp", ".cleaned", ".deleted")


@dataclass(frozen=True, slots=True)
class Damage:
    """Bytes that fail their check and were not cut."""

    path: Path
    position: int
    offset: int
    reason: str

    def __str__(self) -> str:
        return (
            f"{self.path} is damaged at byte {self.position} (offset {self.offset}): {self.reason}"
        )


@dataclass(frozen=True, slots=True)
class Summary:
    """What a clean shutdown knows of a log, so that the next start need not look at its files."""

    log_start_offset: int
    next_offset: int
    leader_epoch: int
    segments: tuple[tuple[int, int, int, int], ...]
    """(base offset, size in bytes, next offset, largest timestamp) of each."""

    @property
    def size_bytes(self) -> int:
        return sum(each[1] for each in self.segments)


@dataclass(slots=True)
class Loaded:
    """A log as it was found."""

    segments: list[Segment] = field(default_factory=list)
    producers: Producers = field(default_factory=Producers)
    next_offset: int = 0
    recovery_point: int = 0
    cut_bytes: int = 0
    damage: list[Damage] = field(default_factory=list)
    is_tail_damaged: bool = False


def load_trusted(disk: Disk, directory: Path, summary: Summary) -> Loaded | None:
    """Take the word of a clean shutdown, if the files still have the sizes it wrote down."""
    loaded = Loaded(next_offset=summary.next_offset)
    for base_offset, size, next_offset, max_timestamp in summary.segments:
        segment = Segment(disk, directory, base_offset)
        try:
            if disk.size(segment.path) != size:
                return None
        except FileNotFoundError:
            return None
        segment.size = segment.durable_size = size
        segment.next_offset = next_offset
        segment.max_timestamp = segment.first_timestamp = max_timestamp
        loaded.segments.append(segment)
    if summary.segments:
        data = disk.read_bytes(snapshot_path(directory, summary.next_offset))
        if data is None:
            return None
        try:
            loaded.producers = Producers.decode(data)
        except Corruption:
            return None
    return loaded


def recover(disk: Disk, directory: Path, synced_at_least: int = 0) -> Loaded:
    """Look at the files themselves; `synced_at_least` is what else is known of the recovery point."""
    names = disk.names(directory)
    for name in names:
        if name.endswith(_UNFINISHED):
            disk.remove(directory / name)
    finish_swaps(disk, directory, names)
    recovery_point = max(synced_at_least, read_recovery_point(disk, directory))
    loaded = Loaded(recovery_point=recovery_point)
    bases = log_bases(disk.names(directory))
    for position, base_offset in enumerate(bases):
        following = bases[position + 1] if position + 1 < len(bases) else None
        segment = Segment(disk, directory, base_offset)
        is_synced = following is not None and following <= recovery_point
        if is_synced:
            _trust(segment, disk.size(segment.path), loaded, following or 0)
        else:
            is_cut = _check(segment, disk.size(segment.path), loaded, recovery_point)
            if is_cut:
                _drop(disk, directory, bases[position + 1 :])
                loaded.segments.append(segment)
                break
        loaded.segments.append(segment)
    if loaded.segments:
        last = loaded.segments[-1]
        loaded.next_offset = max(last.next_offset, recovery_point if loaded.is_tail_damaged else 0)
    loaded.producers = _producers(disk, directory, loaded)
    return loaded


def finish_swaps(disk: Disk, directory: Path, names: list[str]) -> None:
    """Complete a compaction that had made its replacement durable."""
    for swap in Swap.among(names):
        for base_offset in log_bases(disk.names(directory)):
            if swap.base_offset <= base_offset < swap.end_offset:
                _drop(disk, directory, [base_offset])
        disk.rename(directory / swap.name, directory / f"{swap.base_offset:020d}.log")
        disk.sync_directory(directory)


def _drop(disk: Disk, directory: Path, bases: list[int]) -> None:
    for base_offset in bases:
        segment = Segment(disk, directory, base_offset)
        disk.remove(segment.index_path)
        disk.remove(segment.path)


def _trust(segment: Segment, size: int, loaded: Loaded, following: int) -> None:
    """A synced segment is not read again at start; its batches are checked whenever they are served."""
    if segment.load_from_index(size):
        segment.first_timestamp = segment.max_timestamp
        return
    segment.index = Index()
    try:
        for position, header in segment.walk(0, size):
            segment.note(header, position)
    except Corruption as error:
        loaded.damage.append(Damage(segment.path, 0, segment.next_offset, error.what))
    segment.next_offset = max(segment.next_offset, following)


def _check(segment: Segment, size: int, loaded: Loaded, recovery_point: int) -> bool:
    """Read every batch; returns whether an unfinished tail was cut."""
    segment.size = size
    segment.index = Index()
    position, expected = 0, segment.base_offset
    while position < size:
        try:
            for at, header, _ in segment.scan(position, size, expected):
                segment.note(header, at)
                position, expected = at + header.size, header.next_offset
        except Corruption as error:
            if expected >= recovery_point:
                loaded.cut_bytes += size - position
                segment.truncate(position)
                segment.file.sync()
                break
            loaded.damage.append(Damage(segment.path, position, expected, error.what))
            resumed = next_batch(segment, position + 1, size, expected)
            if resumed is None:
                loaded.is_tail_damaged = True
                segment.next_offset = max(segment.next_offset, recovery_point)
                break
            position, expected = resumed
    segment.durable_size = segment.size
    return segment.size < size


def next_batch(segment: Segment, position: int, end: int, expected: int) -> tuple[int, int] | None:
    """Look past damage for the next whole batch: returns (position, base offset)."""
    data = memoryview(segment.read(min(RESYNC_BYTES, end - position), position))
    haystack = bytes(data)
    candidate = haystack.find(b"\x02", 16)
    while candidate >= 0:
        start = candidate - 16
        if is_frame(data, start):
            try:
                header = checked_header(data, start, expected)
                return position + start, header.base_offset
            except Corruption:
                pass
        candidate = haystack.find(b"\x02", candidate + 1)
    return None


def _producers(disk: Disk, directory: Path, loaded: Loaded) -> Producers:
    """Take the newest readable snapshot and replay the batches after it."""
    producers = Producers()
    start = 0
    for offset in reversed(snapshot_offsets(disk.names(directory))):
        path = snapshot_path(directory, offset)
        if offset > loaded.next_offset:
            disk.remove(path)
            continue
        try:
            producers = Producers.decode(disk.read_bytes(path) or b"")
        except Corruption as error:
            loaded.damage.append(Damage(path, 0, offset, error.what))
            continue
        start = offset
        break
    for segment in loaded.segments:
        if segment.next_offset > start:
            _replay(segment, start, producers)
    return producers


def _replay(segment: Segment, start: int, producers: Producers) -> None:
    try:
        for _, header in segment.walk(0, segment.size):
            if header.base_offset >= start and header.has_producer:
                producers.note(header, header.base_offset)
    except Corruption:
        return  # Reported where it was found; batches behind it keep their own sequence.
