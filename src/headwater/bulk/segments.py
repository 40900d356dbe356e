"""Short-circuit reads: the segment files of a broker on this machine, without the broker.

Read-only and strict: whatever is not exactly as expected (a file that retention removed, a gap that
compaction left, a failed checksum, a transaction) ends the read, and the rest is asked of the broker.
The caller names an end that the broker has said to be readable; bytes beyond it are never trusted.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from headwater.bulk.batches import Batches
from headwater.bulk.ranges import OffsetRange
from headwater.errors import Corruption, StorageFailed
from headwater.log.batch_file import Place
from headwater.log.disk import ReadOnlyDisk
from headwater.log.names import log_bases
from headwater.log.segment import Segment
from headwater.log.state import read_state

READ_BYTES: Final = 2 << 20
"""What fits into a processor's cache is decoded sooner."""


def holds(data: Path, wanted: OffsetRange, topic_id: bytes) -> bool:
    """Whether `data` is the directory of the broker that has this topic, seen from this machine."""
    try:
        state = read_state(ReadOnlyDisk(), data / str(wanted.topic_partition))
    except (OSError, Corruption):
        return False
    return state is not None and state.topic_id == topic_id.hex()


def read_segments(data: Path, wanted: OffsetRange) -> Iterator[Batches]:
    """Yield batches from the range's start on, contiguous and checked, as far as the files serve."""
    directory = data / str(wanted.topic_partition)
    disk = ReadOnlyDisk()
    offset = wanted.start
    try:
        bases = log_bases(disk.names(directory))
        for base, following in zip(bases, [*bases[1:], None], strict=True):
            if following is not None and following <= offset:
                continue
            if base > offset or offset >= wanted.end:
                return
            for batches in _read_segment(Segment(disk, directory, base), offset, wanted.end):
                if any(each.is_transactional or each.is_control for _, each in batches.placed):
                    return
                offset = batches.next_offset
                yield batches
    except (OSError, StorageFailed, Corruption):
        return


def _read_segment(segment: Segment, offset: int, end: int) -> Iterator[Batches]:
    size = segment.file.size()
    start = None if segment.load_from_index(size) else Place(0, segment.base_offset)
    found = segment.find(offset, size, start=start)
    place = Place(size, offset) if found is None else Place(found[0], found[1].base_offset)
    while place.position < size and place.offset < end:
        data, place = segment.read_piece(place, size, READ_BYTES)
        yield Batches.of(data)
