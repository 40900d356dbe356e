"""Bit flips and cuts in the files of a log with transactions: nothing changes sides."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest

from crash.damaged_log import UnsyncedDisk
from headwater.errors import Corruption, OffsetOutOfRange
from headwater.log.partition import PartitionLog
from headwater.log.settings import LogSettings
from headwater.testing import SettableClock
from headwater.wire.record_batch import iterate_headers
from log.batches import KeyValue
from log.transactions import NEW, OLD, Writer, delivered

SETTINGS = LogSettings(segment_bytes=900)
NAME = "orders-0"


@dataclass(frozen=True)
class Original:
    """A log of several segments that a crash left behind, and what is committed in it."""

    directory: Path
    committed: dict[int, bytes | None]
    end: int

    @classmethod
    def made(cls, root: Path, random: Random) -> "Original":
        root.mkdir(parents=True)
        log = opened(root / NAME)
        writers = [Writer(log, each, random.choice([OLD, NEW])) for each in range(4)]
        pending: dict[int, dict[int, bytes | None]] = {}
        committed: dict[int, bytes | None] = {}
        for number in range(60):
            writer = random.choice(writers)
            if random.random() < 0.7:
                records: list[KeyValue] = [(None, b"%d" % number), (None, b"%d again" % number)]
                first = writer.send(*records, codec=number % 2)
                mine = pending.setdefault(writer.producer_id, {})
                mine |= {first + each: value for each, (_, value) in enumerate(records)}
            else:
                is_commit = random.random() < 0.5
                writer.end(is_commit=is_commit)
                ended = pending.pop(writer.producer_id, {})
                committed |= ended if is_commit else {}
            log.sync()
        return cls(root / NAME, committed, log.next_offset)

    def copied(self, to: Path) -> Path:
        shutil.copytree(self.directory, to / NAME)
        return to / NAME


def opened(directory: Path) -> PartitionLog:
    return PartitionLog.open(UnsyncedDisk(), directory, SETTINGS, SettableClock())


def check_readers(log: PartitionLog, original: Original) -> int:
    """From every offset on, a reader gets committed records or an error; returns how many it got."""
    served: set[int] = set()
    offset = log.log_start_offset
    while offset < min(log.last_stable_offset, original.end):
        limit = log.last_stable_offset
        try:
            log.refuse_uncertain(offset)
            chunk = log.read(offset, 400, limit)
            found = delivered(chunk, log.aborted_in(chunk, limit))
        except (Corruption, OffsetOutOfRange):
            offset += 1
            continue
        for each in found:
            if each.offset >= offset:
                expected = original.committed.get(each.offset, "not committed")
                assert each.value == expected, f"offset {each.offset} was served: {expected}"
                served.add(each.offset)
        offset = max(
            (header.next_offset for _, header in iterate_headers(chunk)), default=offset + 1
        )
    return len(served)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("harm", ["flip", "cut"])
def test_damage_never_makes_a_record_committed(tmp_path: Path, seed: int, harm: str) -> None:
    assert damage_campaign(tmp_path, Random(seed), harm, 60) > 0


def damage_campaign(root: Path, random: Random, harm: str, count: int) -> int:
    """Damage the same log in many ways; returns how many committed records were still served."""
    original = Original.made(root / "original", random)
    assert check_readers(opened(original.copied(root / "sound")), original) == len(
        {
            each
            for each in original.committed
            if each < opened(root / "sound" / NAME).last_stable_offset
        }
    )
    served = 0
    for number in range(count):
        directory = original.copied(root / str(number))
        path = random.choice([each for each in sorted(directory.iterdir()) if each.stat().st_size])
        data = bytearray(path.read_bytes())
        position = random.randrange(len(data))
        if harm == "flip":
            data[position] ^= 1 << random.randrange(8)
        else:
            del data[position:]
        path.write_bytes(data)
        served += check_readers(opened(directory), original)
        served += check_readers(opened(directory), original)
    return served
