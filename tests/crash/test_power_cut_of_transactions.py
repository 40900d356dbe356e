"""A power cut at any point of a broker's life with transactions in flight: all or nothing, for ever."""

from collections import Counter
from pathlib import Path
from random import Random

import pytest

from crash.transaction_workload import TransactionWorkload, check_transactions
from headwater.testing.power_cut import RecordingDisk, at_random, cuts, everything, nothing_unsynced


@pytest.mark.parametrize("seed", range(3))
def test_transaction_is_there_as_a_whole_or_not_at_all_after_a_power_cut(
    tmp_path: Path, seed: int
) -> None:
    tried = transaction_campaign(tmp_path, seed, steps=90, count=60)

    assert tried["committed"] > 0
    assert tried["undecided"] > 0, "no cut was between the question and the answer"


def transaction_campaign(root: Path, seed: int, steps: int, count: int | None) -> Counter[str]:
    """Live one life, then cut it; returns how many states and transactions were tried."""
    random = Random(seed)
    (root / "life").mkdir(parents=True)
    recording = TransactionWorkload(root / "life", random).run(steps).recording
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
        tried += check_transactions(left, disk, marks)
        again = root / f"again-{at}"
        during = random.randint(start, len(disk.recording))
        disk.recording.leave(during, again, at_random(random))
        tried += check_transactions(again, RecordingDisk(again), marks)
        tried["cuts"] += 2
    return tried
