"""From files to a log that can be trusted: what a crash left unfinished is cut, damage is kept and named.

The rule: bytes at or after the recovery point were never acknowledged, so a batch there that is not whole,
or does not follow the one before, is a torn tail and goes with all that comes after it. A bad batch before
that point was acknowledged: it stays, is reported, and never served.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from headwater.errors import Corruption
from headwater.log.disk import Disk
from headwater.log.names import Swap, log_bases, snapshot_offsets, snapshot_path
from headwater.log.producers import Producers
from headwater.log.segment import Segment
from headwater.log.state import STATE_NAME, PartitionState, read_recovery_point, read_state

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

    state: PartitionState | None = None
    segments: list[Segment] = field(default_factory=list)
    producers: Producers = field(default_factory=Producers)
    next_offset: int = 0
    recovery_point: int = 0
    is_cut: bool = False
    damage: list[Damage] = field(default_factory=list)
    is_tail_damaged: bool = False
    is_start_missing: bool = False
    has_removed: bool = False
    """Whether files of a lost end were removed: they must not come back."""


def load_trusted(disk: Disk, directory: Path, summary: Summary) -> Loaded | None:
    """Take the word of a clean shutdown, if the files still have the sizes it wrote down."""
    loaded = Loaded(next_offset=summary.next_offset)
    if not summary.segments:
        return loaded if summary.next_offset == 0 else None
    try:
        loaded.state = read_state(disk, directory)
        data = disk.read_bytes(snapshot_path(directory, summary.next_offset))
        loaded.producers = Producers.decode(data or b"")
    except Corruption:
        return None
    if loaded.state is None or Swap.among(disk.names(directory)):
        return None
    for base_offset, size, next_offset, max_timestamp in summary.segments:
        segment = _segment(disk, directory, base_offset, loaded.state)
        try:
            if disk.size(segment.path) != size:
                return None
        except FileNotFoundError:
            return None
        segment.size = segment.durable_size = size
        segment.next_offset = next_offset
        segment.max_timestamp = max_timestamp
        loaded.segments.append(segment)
    return loaded


def recover(disk: Disk, directory: Path, summary: Summary | None = None) -> Loaded:
    """Look at the files themselves; `summary` is what is known from elsewhere."""
    names = disk.names(directory)
    for name in names:
        if name.endswith(_UNFINISHED):
            disk.remove(directory / name)
    known = summary.next_offset if summary is not None else 0
    loaded = Loaded(recovery_point=max(known, read_recovery_point(disk, directory)))
    loaded.state = _state(disk, directory, loaded, summary)
    finish_swaps(disk, directory, names)
    if loaded.state is not None:
        finish_removals(disk, directory, loaded.state.log_start_offset)
    _load_segments(disk, directory, loaded)
    _find_missing_start(directory, loaded)
    _find_missing_end(directory, loaded)
    loaded.producers = _producers(disk, directory, loaded)
    return loaded


def finish_swaps(disk: Disk, directory: Path, names: list[str]) -> None:
    """Complete a compaction that had made its replacement durable."""
    for swap in Swap.among(names):
        bases = log_bases(disk.names(directory))
        if swap.end_offset not in bases:
            # Left by an attempt that failed; since then these segments were replaced by others.
            disk.remove(directory / swap.name)
            continue
        put_in_place(disk, directory, swap, bases)


def put_in_place(disk: Disk, directory: Path, swap: Swap, bases: list[int]) -> None:
    """Give a durable replacement its name; what it replaces is gone for good before that."""
    replaced = [each for each in bases if swap.base_offset <= each < swap.end_offset]
    Segment(disk, directory, swap.base_offset).remove_indexes()
    _drop(disk, directory, [each for each in replaced if each != swap.base_offset])
    disk.sync_directory(directory)
    disk.rename(directory / swap.name, Segment(disk, directory, swap.base_offset).path)
    disk.sync_directory(directory)


def finish_removals(disk: Disk, directory: Path, log_start_offset: int) -> None:
    """Remove segments before the log start that a power cut brought back."""
    bases = log_bases(disk.names(directory))
    gone = [base for base, following in pairwise(bases) if following <= log_start_offset]
    _drop(disk, directory, gone)


def _state(
    disk: Disk, directory: Path, loaded: Loaded, summary: Summary | None
) -> PartitionState | None:
    try:
        return read_state(disk, directory)
    except Corruption as error:
        if loaded.recovery_point == 0:
            return None  # Its first sync never finished.
        path = directory / STATE_NAME
        loaded.damage.append(Damage(path, 0, 0, error.what))
        disk.rename(path, path.with_suffix(".damaged"))
    if summary is None:
        return None
    return PartitionState(
        log_start_offset=summary.log_start_offset, leader_epochs=((summary.leader_epoch, 0),)
    )


def _load_segments(disk: Disk, directory: Path, loaded: Loaded) -> None:
    bases = log_bases(disk.names(directory))
    for position, base_offset in enumerate(bases):
        following = bases[position + 1] if position + 1 < len(bases) else None
        if loaded.segments and not _continues(loaded, base_offset):
            loaded.is_cut = True
            _drop(disk, directory, bases[position:])
            return
        segment = _segment(disk, directory, base_offset, loaded.state)
        loaded.segments.append(segment)
        if following is not None and following <= loaded.recovery_point:
            _trust(segment, disk.size(segment.path))
        elif _check(segment, disk.size(segment.path), loaded):
            loaded.is_cut = True
            _drop(disk, directory, bases[position + 1 :])
            return


def _segment(
    disk: Disk, directory: Path, base_offset: int, state: PartitionState | None
) -> Segment:
    segment = Segment(disk, directory, base_offset)
    segment.is_sparse = state is not None and base_offset < state.sparse_to
    return segment


def _continues(loaded: Loaded, base_offset: int) -> bool:
    """Whether a segment may follow those before it; False: unsynced batches before it are missing."""
    last = loaded.segments[-1]
    if last.next_offset == base_offset:
        return True
    if last.next_offset >= loaded.recovery_point:
        return False
    reason = f"it ends at offset {last.next_offset}, the next segment begins at {base_offset}"
    loaded.damage.append(Damage(last.path, last.size, last.next_offset, reason))
    last.next_offset = base_offset
    return True


def _find_missing_start(directory: Path, loaded: Loaded) -> None:
    """Segments at the front go only after the log start was moved past them, durably."""
    if loaded.state is None or not loaded.segments:
        return
    start, first = loaded.state.log_start_offset, loaded.segments[0].base_offset
    if start < min(first, loaded.recovery_point):
        loaded.is_start_missing = True
        loaded.damage.append(Damage(directory, 0, start, missing_start(start, first)))


def missing_start(start: int, first: int) -> str:
    return f"it begins at offset {start}, but its first segment at {first}"


def _find_missing_end(directory: Path, loaded: Loaded) -> None:
    """What was synced must be there: an offset is never given twice."""
    start = loaded.state.log_start_offset if loaded.state is not None else 0
    last = loaded.segments[-1] if loaded.segments else None
    end = last.next_offset if last is not None else start
    loaded.next_offset = max(end, loaded.recovery_point)
    if end >= loaded.recovery_point:
        return
    loaded.is_tail_damaged = True
    path, size = (last.path, last.size) if last is not None else (directory, 0)
    if last is not None:
        last.next_offset = loaded.recovery_point
    if not any(each.path == path for each in loaded.damage):
        reason = f"it ends at offset {end}, but was synced up to {loaded.recovery_point}"
        loaded.damage.append(Damage(path, size, end, reason))


def _drop(disk: Disk, directory: Path, bases: list[int]) -> None:
    for base_offset in bases:
        Segment(disk, directory, base_offset).remove()


def _trust(segment: Segment, size: int) -> None:
    """A synced segment is not read again at start; its batches are checked whenever they are served."""
    segment.load_from_index(size)


def _check(segment: Segment, size: int, loaded: Loaded) -> bool:
    """Read every batch; returns whether an unfinished tail was cut."""
    segment.size = size
    segment.forget()
    position, expected = 0, segment.base_offset
    while position < size:
        try:
            for at, header, _ in segment.scan(position, size, expected):
                segment.note(header, at)
                position, expected = at + header.size, header.next_offset
        except Corruption as error:
            if expected >= loaded.recovery_point:
                segment.truncate(position)
                segment.file.sync()
                break
            loaded.damage.append(Damage(segment.path, position, expected, error.what))
            resumed = segment.next_batch(position + 1, size, expected)
            if resumed is None:
                break
            position, expected = resumed
    segment.durable_size = segment.size
    return segment.size < size


def _producers(disk: Disk, directory: Path, loaded: Loaded) -> Producers:
    """Take the newest readable snapshot and replay the batches after it.

    A snapshot that cannot be read is no loss while the batches it summed up are still there. Those of a
    clean shutdown are not synced, so a power cut may tear them; only the ones made with a segment count.
    """
    producers = Producers()
    start = 0
    unreadable: list[Damage] = []
    bases = {each.base_offset for each in loaded.segments}
    for offset in reversed(snapshot_offsets(disk.names(directory))):
        path = snapshot_path(directory, offset)
        if offset > loaded.next_offset:
            disk.remove(path)
            loaded.has_removed = True
            continue
        try:
            producers = Producers.decode(disk.read_bytes(path) or b"")
        except Corruption as error:
            if offset in bases:
                unreadable.append(Damage(path, 0, offset, error.what))
            continue
        start = offset
        break
    first = loaded.segments[0].base_offset if loaded.segments else 0
    if start < first:
        loaded.damage += unreadable
    for segment in loaded.segments:
        if segment.next_offset > start:
            _replay(segment, start, producers)
    producers.transactions.settle(loaded.next_offset)
    return producers


def _replay(segment: Segment, start: int, producers: Producers) -> None:
    """Let the producers learn of every batch of theirs from `start` on."""
    for position, header in segment.walk_past_damage():
        if header.base_offset < start or not header.has_producer:
            continue
        if not header.is_control:
            producers.note(header, header.base_offset)
        elif (marker := segment.marker_at(header, position)) is not None:
            producers.end(header, marker)
