"""The small files of a partition beside its segments: what must outlive deleted records.

`partition` holds the topic's id, the log start offset and the leader epochs; it is replaced durably.
`recovery-point` holds the offset up to which the log was synced. What it says is never more than the truth,
and never less than the end of the last segment that was sealed before a sync.

    recovery-point := durable-slot durable-slot latest-slot, each at a multiple of 32 bytes
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
_SLOT_BYTES: Final = 32
_DURABLE_SLOTS: Final = 2
_LATEST_SLOT: Final = 2


@dataclass(frozen=True, slots=True)
class PartitionState:
    """What `partition` says."""

    topic_id: str = ""
    log_start_offset: int = 0
    leader_epochs: tuple[tuple[int, int], ...] = ((0, 0),)
    """(epoch, first offset of that epoch), oldest first."""
    cleaned_to: int = 0
    """Compaction has been over everything below this offset."""
    sparse_to: int = 0
    """Compaction may have taken offsets out below this one; from here on every offset is there."""

    @property
    def leader_epoch(self) -> int:
        return self.leader_epochs[-1][0]

    def epoch_at(self, offset: int) -> int:
        """Return the leader epoch under which `offset` was or will be written."""
        epochs = [epoch for epoch, start in self.leader_epochs if start <= offset]
        return epochs[-1] if epochs else self.leader_epochs[0][0]

    def end_of_epoch(self, epoch: int, high_watermark: int) -> tuple[int, int]:
        """Return (epoch, end offset) of the largest epoch up to the given one; (-1, -1) if none is."""
        if epoch == self.leader_epoch:
            return epoch, high_watermark
        known = [each for each in self.leader_epochs if each[0] <= epoch]
        later = [each for each in self.leader_epochs if each[0] > epoch]
        if not known or not later:
            return -1, -1
        return known[-1][0], later[0][1]

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


class RecoveryPoint:
    """Says how far the log is synced; called by one thread at a time, after the sync.

    `note` is for every sync: it costs no sync of its own, so a power cut may bring an older value back.
    `keep` is for syncs that added files: two slots take turns, so a torn write leaves the other.
    """

    def __init__(self, disk: Disk, directory: Path) -> None:
        self._file = disk.open(directory / RECOVERY_POINT_NAME)
        slots = _slots(bytes(self._file.read(_SLOT_BYTES * (_LATEST_SLOT + 1), 0)))
        self._turn = 0 if (slots[0] or 0) <= (slots[1] or 0) else 1
        if self._file.size() == 0:
            self._file.append([_slot(0).ljust(_SLOT_BYTES, b"\0") * (_LATEST_SLOT + 1)])

    @property
    def file(self) -> File:
        return self._file

    def note(self, offset: int) -> None:
        self._file.overwrite(_slot(offset), _SLOT_BYTES * _LATEST_SLOT)

    def keep(self, offset: int) -> None:
        self._file.overwrite(_slot(offset), _SLOT_BYTES * self._turn)
        self._turn = (self._turn + 1) % _DURABLE_SLOTS
        self._file.sync()


def read_recovery_point(disk: Disk, directory: Path) -> int:
    """Return an offset below which every record was synced; 0 if nothing is known."""
    data = disk.read_bytes(directory / RECOVERY_POINT_NAME)
    return max((each for each in _slots(data or b"") if each is not None), default=0)


def is_recovery_point_readable(data: bytes) -> bool:
    return any(each is not None for each in _slots(data))


def _slot(offset: int) -> bytes:
    return checksummed.wrap(RECOVERY_POINT_MAGIC, _OFFSET.pack(offset))


def _slots(data: bytes) -> list[int | None]:
    size = len(_slot(0))
    return [
        _offset_in(data[start : start + size])
        for start in range(0, _SLOT_BYTES * (_LATEST_SLOT + 1), _SLOT_BYTES)
    ]


def _offset_in(slot: bytes) -> int | None:
    try:
        return int(_OFFSET.unpack(checksummed.unwrap(RECOVERY_POINT_MAGIC, slot))[0])
    except (Corruption, struct.error):
        return None
