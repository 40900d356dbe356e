"""A power cut at any point of a broker's life, seen by its clients."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from crash.broker_workload import BrokerWorkload, check_broker
from headwater.testing.power_cut import RecordingDisk, at_random, cuts, everything, nothing_unsynced


@pytest.mark.parametrize("seed", range(2))
def test_what_clients_were_told_holds_after_a_power_cut_at_any_point(
    tmp_path: Path, seed: int
) -> None:
    tried = broker_campaign(tmp_path, seed, rounds=6, count=60)

    assert tried["acknowledged"] > 0


def broker_campaign(root: Path, seed: int, rounds: int, count: int | None) -> Counter[str]:
    """Live one life, then cut it; returns how many states were tried and records looked for."""
    random = Random(seed)
    (root / "life").mkdir(parents=True)
    recording = BrokerWorkload(root / "life", random).run(rounds).recording
    tried: Counter[str] = Counter()
    for at in cuts(recording, 1, random, count):
        marks = recording.marks(at)
        survival = random.choice(
            [nothing_unsynced, everything, at_random(random), at_random(random)]
        )
        left = root / f"cut-{at}"
        recording.leave(at, left, survival)
        disk = RecordingDisk(left)
        start = len(disk.recording)
        tried["acknowledged"] += check_broker(left, disk, marks)
        again = root / f"again-{at}"
        during = random.randint(start, len(disk.recording))
        disk.recording.leave(during, again, at_random(random))
        tried["acknowledged"] += check_broker(again, RecordingDisk(again), marks)
        tried["cuts"] += 2
    return tried
