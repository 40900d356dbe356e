"""The campaign: `make fire EVENTS=n SEED=n BROKER=headwater|kafka KILLS=n`.

Exits with 1 if a row is lost, doubled or different in any topic or view; what was seen is then kept.
"""
# ruff: noqa: T201 - this is a program

import argparse
import shutil
import signal
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from rigs.apache_kafka import ApacheKafka
from rigs.headwater_process import HeadwaterProcess
from under_fire.campaign import Campaign

PARTITIONS = 4


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--events", type=int, default=10_000_000)
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--kills", type=int, help="of each kind; 4 for a million events or more")
    arguments.add_argument("--broker", choices=["headwater", "kafka"], default="headwater")
    chosen = arguments.parse_args()
    kills = chosen.kills if chosen.kills is not None else 4 if chosen.events >= 1_000_000 else 1
    # Whoever ends us ends all that we have started.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    folder = Path(tempfile.mkdtemp(prefix="headwater-fire-"))
    with ExitStack() as stack:
        log = stack.enter_context(_broker(chosen.broker))
        campaign = Campaign(log, folder, chosen.seed, chosen.events)
        report = campaign.run(kills)
    print(report.table())
    if not report.is_perfect:
        print(f"what was seen is in {folder}", file=sys.stderr)
        sys.exit(1)
    shutil.rmtree(folder, ignore_errors=True)


def _broker(name: str) -> HeadwaterProcess | ApacheKafka:
    if name == "headwater":
        return HeadwaterProcess({"num_partitions": str(PARTITIONS)})
    return ApacheKafka({"num.partitions": str(PARTITIONS)})


if __name__ == "__main__":
    main()
