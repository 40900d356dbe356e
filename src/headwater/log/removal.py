"""Segments that leave a log: out of it at once, off the disk when there is time."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headwater.errors import StorageFailed
from headwater.log.segment import Segment

if TYPE_CHECKING:
    from headwater.log.partition import PartitionLog


@dataclass(frozen=True, slots=True)
class Removal:
    """Segments that are out of the log, and the new log start; `run` may take its time."""

    log: "PartitionLog"
    segments: list[Segment]

    def run(self) -> None:
        """Make the new start durable, then remove the files.

        The files of a segment at a time: who deletes the topic waits for no more. What fails is left to
        the next removal.
        """
        try:
            self._make_room()
            self.log.write_state()
            for each in self.segments:
                with self.log.files:
                    each.remove()
                self.log.removed(each)
        except OSError as error:
            raise StorageFailed(
                f"old segments of {self.log.directory.name} could not be removed: {error}",
                hint="free disk space or check the disk; it will be tried again",
            ) from error

    def _make_room(self) -> None:
        """Remove what can be made again first: on a full disk the new start would not fit."""
        for each in self.segments:
            with self.log.files:
                each.remove_indexes()
