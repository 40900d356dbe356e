"""The long form of the transaction tests: `make transactions ROUNDS=n SEED=s BROKER=headwater|kafka`.

Each round is a new broker, a new crew of writers and new harm. Exits with 1 if anything that was seen
cannot be explained by whole transactions; the history of such a round is kept, to be looked at.
"""
# ruff: noqa: T201 - this is a program

import argparse
import json
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from histories.checker import Kind
from histories.rounds import LONG, SHORT, Verdict, run_round
from rigs.brokers import RIGS

TRIED = ("tried", "committed", "aborted", "unknown")
HARM = ("writers killed", "writers usurped", "writers paused", "broker killed")
READ = ("records read", "aborted records in the log")
FAILED = "rounds that failed"


class Campaign:
    """Counts what was tried and what was broken."""

    def __init__(self, broker: str, scratch: Path, *, is_short: bool) -> None:
        self.new_broker = RIGS[broker]
        self.scratch = scratch
        self.load = SHORT if is_short else LONG
        self.counts: Counter[str] = Counter()

    def run(self, rounds: int, first_seed: int) -> None:
        for number in range(rounds):
            seed = first_seed + number
            try:
                self._round(seed)
            except Exception:  # noqa: BLE001 - counted, shown, and the exit code
                self.counts[FAILED] += 1
                print(f"BROKEN: seed {seed}", file=sys.stderr)
                traceback.print_exc()
            told = ", ".join(f"{self.counts[each]:,} {each}" for each in TRIED)
            print(
                f"round {number + 1}/{rounds} seed {seed}: {told}, {self.broken} broken", flush=True
            )

    @property
    def broken(self) -> int:
        return sum(self.counts[each] for each in (*Kind, FAILED))

    def _round(self, seed: int) -> None:
        with self.new_broker() as broker:
            errors = self.scratch / f"writers-{seed}.log"
            verdict = run_round(broker, self.load, seed, errors)
        self.counts += verdict.counts
        self.counts.update(each.kind for each in verdict.anomalies)
        if verdict.anomalies:
            self._keep(seed, verdict)
        assert not verdict.failures, verdict.failures

    def _keep(self, seed: int, verdict: Verdict) -> None:
        with tempfile.NamedTemporaryFile(
            "w", prefix=f"headwater-history-{seed}-", suffix=".json", delete=False
        ) as file:
            json.dump(asdict(verdict.history), file)
        for each in verdict.anomalies[:10]:
            print(f"BROKEN: {each.kind}: {each.what}", file=sys.stderr)
        print(f"the history is in {file.name}", file=sys.stderr)

    def table(self) -> str:
        rows = [*TRIED, *HARM, *READ, *Kind, FAILED]
        width = max(len(each) for each in rows)
        return "\n".join(f"{each:<{width}}  {self.counts[each]:>10,}" for each in rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--broker", choices=RIGS, default="headwater")
    parser.add_argument("--short", action="store_true", help="the rounds of make test")
    asked = parser.parse_args()
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="headwater-transactions-") as scratch:
        campaign = Campaign(asked.broker, Path(scratch), is_short=asked.short)
        campaign.run(asked.rounds, asked.seed)
    print(f"\n{campaign.table()}\n")
    print(f"{time.monotonic() - began:.0f} s on {asked.broker}, seed {asked.seed}")
    return 1 if campaign.broken else 0


if __name__ == "__main__":
    sys.exit(main())
