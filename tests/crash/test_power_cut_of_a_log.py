"""A power cut at any point of a log's life: only what was synced is sure, anything else may be torn."""

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from crash.log_workload import COMPACTED, DELETED, LogWorkload, check_retries, check_survivor
from headwater.log.partition import PartitionLog
from headwater.log.settings import LogSettings
from headwater.testing.power_cut import (
    RecordingDisk,
    Survival,
    at_random,
    cuts,
    everything,
    nothing_unsynced,
)
from log.batches import read_all

STEPS = 90
CUTS = 24


def survivals(random: Random) -> Iterator[Survival]:
    yield nothing_unsynced
    yield everything
    yield at_random(random)
    yield at_random(random)


@pytest.mark.parametrize("settings", [DELETED, COMPACTED], ids=["deleted", "compacted"])
@pytest.mark.parametrize("seed", range(4))
def test_acknowledged_record_survives_a_power_cut_at_any_point(
    tmp_path: Path, settings: LogSettings, seed: int
) -> None:
    campaign(tmp_path, settings, seed, STEPS, CUTS)


def campaign(
    root: Path, settings: LogSettings, seed: int, steps: int, count: int | None
) -> tuple[int, int]:
    """Live one life, then cut it; returns (states tried, acknowledged records looked for)."""
    random = Random(seed)
    (root / "life").mkdir(parents=True)
    life = LogWorkload(root / "life", settings, random)
    recording = life.run(steps).recording
    tried = checked = 0
    for at in cuts(recording, 1, random, count):
        marks = recording.marks(at)
        for which, survival in enumerate(survivals(random)):
            left = root / f"cut-{at}-{which}"
            recording.leave(at, left, survival)
            disk = RecordingDisk(left)
            before = len(disk.recording)
            log = life.reopened(disk, left)
            checked += check_survivor(log, marks, life).acknowledged
            during = random.randint(before, len(disk.recording))
            check_crash_in_recovery(disk, root / f"again-{at}-{which}", during, marks, life, random)
            check_retries(log, marks, life)
            check_second_crash(disk, root / f"later-{at}-{which}", log, random, life)
            tried += 3
    return tried, checked


def check_second_crash(
    disk: RecordingDisk, left: Path, log: PartitionLog, random: Random, life: LogWorkload
) -> None:
    """The power fails once more after the log went on: nothing of the first crash comes back."""
    disk.recording.leave(len(disk.recording), left, at_random(random))
    again = life.reopened(RecordingDisk(left), left)
    assert again.damage == []
    assert again.next_offset == log.next_offset
    assert read_all(again) == read_all(log)
    assert dict(again.producers) == dict(log.producers), "producers were mixed up"


def check_crash_in_recovery(
    disk: RecordingDisk, left: Path, at: int, marks: list[object], life: LogWorkload, random: Random
) -> None:
    """The power fails again while the log recovers: nothing more is lost, and it recovers again."""
    disk.recording.leave(at, left, at_random(random))
    log = life.reopened(RecordingDisk(left), left)
    check_survivor(log, marks, life)
    again = life.reopened(RecordingDisk(left), left)
    assert again.next_offset == log.next_offset
    check_survivor(again, marks, life)
    check_retries(again, marks, life)
