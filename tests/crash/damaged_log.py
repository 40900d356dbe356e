"""A log with a known content, and what must hold for its readers whatever happens to its files."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from headwater.errors import Corruption
from headwater.log.disk import Disk, File, LocalDisk, LocalFile
from headwater.log.partition import PartitionLog
from headwater.log.settings import LogSettings
from headwater.log.verify import verify
from headwater.testing import SettableClock
from headwater.wire.record_batch import iterate_headers
from headwater.wire.records import decode_batch
from log.batches import Sender, batch, values

SETTINGS = LogSettings(segment_bytes=600)
NAME = "orders-0"


class UnsyncedFile(LocalFile):
    def sync(self) -> None:
        pass


class UnsyncedDisk(LocalDisk):
    """Damage is not about syncing: these tests need none."""

    def open(self, path: Path, *, create: bool = True) -> File:
        return UnsyncedFile(path, os.O_RDWR | (os.O_CREAT if create else 0))

    def sync_directory(self, path: Path) -> None:
        pass


@dataclass(frozen=True)
class Original:
    """The undamaged log: where each batch is, and what it holds."""

    directory: Path
    batches: dict[tuple[Path, int, int], dict[int, bytes | None]]
    """(file name, start, end) -> value by offset."""
    end: int

    @classmethod
    def made(cls, root: Path, count: int = 30, disk: Disk | None = None) -> "Original":
        """A log of several segments, synced, then left behind by a crash."""
        root.mkdir(exist_ok=True)
        log = opened(root / NAME, disk)
        for each in range(count):
            sender = Sender(1, 0, 2 * each)
            log.append(batch(values(f"{each}-first", f"{each}-second"), sender, codec=each % 2))
            log.sync()
        places = {}
        for segment in log.segments:
            for position, header in segment.walk(0, segment.size):
                found = segment.read(header.size, position)
                records = {each.offset: each.value for each in decode_batch(bytes(found))}
                places[Path(segment.path.name), position, position + header.size] = records
        return cls(root / NAME, places, log.next_offset)

    def copied(self, to: Path) -> Path:
        shutil.copytree(self.directory, to / NAME)
        return to / NAME

    def value(self, offset: int) -> bytes | None:
        return next(each[offset] for each in self.batches.values() if offset in each)

    def hit(self, file: Path, position: int) -> set[int]:
        """Return the offsets in the batch at this position of a file, or from there on if it is the end."""
        return {
            offset
            for (name, start, end), records in self.batches.items()
            for offset in records
            if name == file and start <= position < end
        }

    def cut_off(self, file: Path, size: int) -> set[int]:
        """Return the offsets that are gone if a file is cut to a size."""
        return {
            offset
            for (name, _, end), records in self.batches.items()
            for offset in records
            if name == file and end > size
        }


def opened(directory: Path, disk: Disk | None = None) -> PartitionLog:
    return PartitionLog.open(disk or UnsyncedDisk(), directory, SETTINGS, SettableClock())


def check_readers(log: PartitionLog, original: Original, damaged: set[int]) -> None:
    """Each offset is read as it was; the damaged ones, and only those, are refused."""
    assert log.high_watermark >= original.end, "offsets will be given twice"
    for offset in range(log.log_start_offset, original.end):
        try:
            found = _read(log, offset)
        except Corruption:
            assert offset in damaged, f"offset {offset} is good but was refused"
            continue
        assert offset not in damaged, f"offset {offset} is damaged but was passed over or served"
        assert found.get(offset) == original.value(offset), f"offset {offset} is another record"


def _read(log: PartitionLog, offset: int) -> dict[int, bytes | None]:
    chunk = log.read(offset, 200, log.high_watermark)
    return {
        each.offset: each.value
        for position, header in iterate_headers(chunk)
        for each in decode_batch(chunk[position : position + header.size])
    }


def check_goes_on(log: PartitionLog, original: Original) -> None:
    """New records are stored behind everything else, and read back."""
    appended = log.append(batch(values("new")))
    log.sync()
    assert appended.base_offset >= original.end
    assert _read(log, appended.base_offset)[appended.base_offset] == b"new"


def is_reported(log: PartitionLog, directory: Path) -> bool:
    return bool(log.damage) or not verify(LocalDisk(), directory).is_sound
