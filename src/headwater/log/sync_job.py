"""What has to reach the disk before a batch may be acknowledged."""

from dataclasses import dataclass
from pathlib import Path

from headwater.log.disk import Disk, File
from headwater.log.segment import Segment
from headwater.log.state import RecoveryPoint


@dataclass(slots=True)
class SyncJob:
    """Files and names to make durable; `run` may be called on any thread."""

    disk: Disk
    files: list[File]
    directories: list[Path]
    next_offset: int
    sizes: list[tuple[Segment, int]]
    recovery_point: RecoveryPoint | None

    def run(self) -> None:
        for each in self.files:
            each.sync()
        for segment, _ in self.sizes:
            self.disk.size(
                segment.path
            )  # Fails if it was removed under us: its bytes go with the last reader.
        for directory in self.directories:
            self.disk.sync_directory(directory)
        if self.recovery_point is None:
            return
        if self.directories:
            self.recovery_point.keep(self.next_offset)
        else:
            self.recovery_point.note(self.next_offset)
