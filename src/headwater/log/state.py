"""The small files of a partition beside its segments: what must outlive deleted records.

`partition` holds the topic's id, the log start offset and the leader epochs; it is replaced durably.
`recovery-point` holds the offset up to which the log was synced; it is overwritten after every sync and
not synced itself, so what it says is never more than the truth.
"""

import json
import struct
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Final

from headwater.errors import Corruption
from headwater.log import checksummed
from headwater.log.disk import Disk, File

STATE_NAME: Final = "partition"
STATE_MAGIC: Final = b"HWPT"
RECOVERY_POINT_NAME: Final = "recovery-point"
RECOVERY_POINT_MAGIC: Final = b"HWRP"
_OFFSET = struct.Struct(">q")


@dataclass(frozen=True, slots=True)
class PartitionState:
    """What `partition` says."""

    topic_id: str = ""
    log_start_offset: int = 0
    leader_epochs: tuple[tuple[int, int], ...] = ((0, 0),)
    """(epoch, first offset of that epoch), oldest first."""
    cleaned_to: int = 0
    """Compaction has been over everything below this offset."""

    @property
    def leader_epoch(self) -> int:
        return self.leader_epochs[-1][0]

    def with_epoch_from(self, offset: int) -> "PartitionState":
        """Start a new leader epoch at `offset`: earlier epochs that reached further are cut."""
        kept = tuple(each for each in self.leader_epochs if each[1] < offset) or ()
        return replace(self, leader_epochs=(*kept, (self.leader_epoch + 1, offset)))

    def encode(self) -> bytes:
        return checksummed.wrap(STATE_MAGIC, json.dumps(asdict(self)).encode())

    @classmethod
    def decode(cls, data: bytes) -> "PartitionState":
        fields = json.loads(checksummed.unwrap(STATE_MAGIC, data))
        fields["leader_epochs"] = tuple((epoch, start) for epoch, start in fields["leader_epochs"])
        return cls(**fields)


def read_state(disk: Disk, directory: Path) -> PartitionState | None:
    """Return the state of the partition, None if it has none yet; raises `Corruption`."""
    data = disk.read_bytes(directory / STATE_NAME)
    return None if data is None else PartitionState.decode(data)


def read_recovery_point(disk: Disk, directory: Path) -> int:
    """Return an offset below which every record was synced; 0 if nothing is known."""
    data = disk.read_bytes(directory / RECOVERY_POINT_NAME)
    if data is None:
        return 0
    try:
        payload = checksummed.unwrap(RECOVERY_POINT_MAGIC, data)
        return int(_OFFSET.unpack(payload)[0])
    except (Corruption, struct.error):
        return 0


def write_recovery_point(file: File, offset: int) -> None:
    file.overwrite(checksummed.wrap(RECOVERY_POINT_MAGIC, _OFFSET.pack(offset)), 0)
