"""The long form of the crash tests: `make crash ROUNDS=n SEED=s`.

Each round lives new random lives of a log and of a broker, cuts them at many points, kills a real broker
under load, and damages files; the first round also tries every fault of `test_disk_faults.py`. Exits with 1
if anything that was acknowledged is lost, doubled or out of order, or was seen and is gone.
"""
# ruff: noqa: T201 - this is a program

import argparse
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

TESTS = Path(__file__).parents[1]
sys.path.insert(0, str(TESTS))

from crash import test_damage_to_a_log as damage  # noqa: E402 - after the path is set
from crash.damaged_log import Original  # noqa: E402
from crash.log_workload import COMPACTED, DELETED  # noqa: E402
from crash.test_damage_to_transactions import damage_campaign  # noqa: E402
from crash.test_killed_broker import kill_campaign, pause_campaign  # noqa: E402
from crash.test_killed_transactions import transaction_kill_campaign  # noqa: E402
from crash.test_power_cut_of_a_broker import broker_campaign  # noqa: E402
from crash.test_power_cut_of_a_log import campaign as log_campaign  # noqa: E402
from crash.test_power_cut_of_transactions import transaction_campaign  # noqa: E402

BROKEN = ("lost", "duplicated", "reordered", "seen then gone", "torn", "other failures")
DEFAULT_ROUNDS = 24
ROUNDS_WITH_A_LONG_PAUSE = 10
"""From so many rounds on, the broker is also stopped for a whole minute."""
MEANINGS = {
    "lost": ("is lost", "is gone", "a gap", "missing"),
    "duplicated": ("twice", "doubled"),
    "reordered": ("out of order",),
    "seen then gone": ("a reader saw",),
    "torn": ("is torn", "was never committed", "not committed"),
}


class Campaign:
    """Counts what was tried and what was broken."""

    def __init__(self, seed: int, scratch: Path) -> None:
        self.seed = seed
        self.scratch = scratch
        self.counts: Counter[str] = Counter()

    def run(self, rounds: int) -> None:
        for number in range(rounds):
            seed = self.seed + number
            self._try(seed, "log", self._cut_logs)
            self._try(seed, "broker", self._cut_a_broker)
            self._try(seed, "transactions", self._cut_transactions)
            self._try(seed, "kill", self._kill)
            self._try(seed, "kill transactions", self._kill_transactions)
            self._try(seed, "damage", self._damage)
            if number == 0:
                self._try(seed, "faults", self._faults)
            if number == ROUNDS_WITH_A_LONG_PAUSE:
                self._try(seed, "pause", self._pause)
            print(f"round {number + 1}/{rounds} seed {seed}: {self._progress()}", flush=True)

    def _progress(self) -> str:
        broken = sum(self.counts[each] for each in BROKEN)
        told = ("cut points", "kills", "damaged files", "acknowledged records checked")
        told += ("committed transactions checked",)
        return ", ".join(f"{self.counts[each]:,} {each}" for each in told) + f", {broken} broken"

    def _try(self, seed: int, what: str, work: Callable[[int, Path], None]) -> None:
        with self._directory() as directory:
            try:
                work(seed, directory)
            except Exception as error:  # noqa: BLE001 - counted, shown, and the exit code
                self._break(str(error))
                print(f"BROKEN: {what}, seed {seed}", file=sys.stderr)
                traceback.print_exc()

    def _break(self, message: str) -> None:
        kinds = [kind for kind, words in MEANINGS.items() if any(each in message for each in words)]
        self.counts[kinds[0] if kinds else "other failures"] += 1

    @contextmanager
    def _directory(self) -> Iterator[Path]:
        directory = Path(tempfile.mkdtemp(dir=self.scratch))
        try:
            yield directory
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def _cut_logs(self, seed: int, directory: Path) -> None:
        for name, settings in (("deleted", DELETED), ("compacted", COMPACTED)):
            tried, checked = log_campaign(directory / name, settings, seed, steps=120, count=60)
            self.counts["cut points"] += tried
            self.counts["acknowledged records checked"] += checked

    def _cut_a_broker(self, seed: int, directory: Path) -> None:
        tried = broker_campaign(directory, seed, rounds=6, count=60)
        self.counts["cut points"] += tried["cuts"]
        self.counts["acknowledged records checked"] += tried["acknowledged"]

    def _cut_transactions(self, seed: int, directory: Path) -> None:
        tried = transaction_campaign(directory, seed, steps=90, count=60)
        self.counts["cut points"] += tried["cuts"]
        self.counts["committed transactions checked"] += tried["committed"]

    def _kill_transactions(self, seed: int, _: Path) -> None:
        kills = 4
        counts, load = transaction_kill_campaign(Random(seed), kills)
        self.counts["kills"] += kills
        self.counts["committed transactions checked"] += counts["committed"]
        self.counts["lost"] += counts["lost"]
        self.counts["duplicated"] += counts["read twice"]
        self.counts["torn"] += counts["torn"] + counts["aborted but read"]
        self.counts["seen then gone"] += counts["seen then gone"]
        self.counts["other failures"] += counts["failures"]
        for each in load.failures[:5]:
            print(f"BROKEN: {each}", file=sys.stderr)

    def _kill(self, seed: int, _: Path) -> None:
        kills = 4
        counts, load = kill_campaign(Random(seed), kills)
        self.counts["kills"] += kills
        self._count_load(counts, load.failures)

    def _pause(self, _seed: int, _: Path) -> None:
        counts, load = pause_campaign(60)
        self._count_load(counts, load.failures)

    def _count_load(self, counts: Counter[str], failures: list[str]) -> None:
        self.counts["acknowledged records checked"] += counts["acknowledged"]
        for each in ("lost", "duplicated", "reordered", "seen then gone"):
            self.counts[each] += counts[each]
        self.counts["other failures"] += counts["failures"] + counts["committed beyond the end"]
        for each in failures[:5]:
            print(f"BROKEN: {each}", file=sys.stderr)

    def _damage(self, seed: int, directory: Path) -> None:
        original = Original.made(directory / "original")
        tried = damage.flip_bits(directory / "flips", original, Random(seed), 80)
        tried += damage.cut_files(directory / "cuts", original, Random(seed), 80)
        self.counts["damaged files"] += tried
        self.counts["acknowledged records checked"] += tried * original.end
        for harm in ("flip", "cut"):
            damage_campaign(directory / f"transactions-{harm}", Random(seed), harm, 60)
            self.counts["damaged files"] += 60

    def _faults(self, _seed: int, _: Path) -> None:
        test = str(TESTS / "crash/test_disk_faults.py")
        command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "--show-capture=no", test]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        self.counts["fault injections"] += ended.stdout.count(".") if not ended.returncode else 0
        if ended.returncode:
            raise AssertionError(ended.stdout[-2000:])

    def table(self) -> str:
        tried = ("cut points", "kills", "damaged files", "fault injections")
        checked = ("acknowledged records checked", "committed transactions checked")
        rows = [*tried, *checked, *BROKEN]
        width = max(len(each) for each in rows)
        return "\n".join(f"{each:<{width}}  {self.counts[each]:>10,}" for each in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=DEFAULT_ROUNDS)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    # Damage and failed syncs are logged by the hundred, on purpose.
    logging.disable(logging.CRITICAL)
    began = time.monotonic()
    # Power cuts and damage are built in memory: thousands of small directories, none of them synced.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="headwater-crash-", dir=memory) as scratch:
        campaign = Campaign(asked.seed, Path(scratch))
        campaign.run(asked.rounds)
    print(f"\n{campaign.table()}\n\n{time.monotonic() - began:.0f} s, seed {asked.seed}")
    return 1 if any(campaign.counts[each] for each in BROKEN) else 0


if __name__ == "__main__":
    sys.exit(main())
