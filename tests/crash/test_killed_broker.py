"""`kill -9` and SIGSTOP of a real broker process, under load."""

import os
import signal
import time
from collections import Counter
from random import Random

import pytest

from crash.kill_workload import KillWorkload
from rigs.headwater_process import HeadwaterProcess

BROKEN = (
    "lost",
    "duplicated",
    "reordered",
    "seen then gone",
    "committed beyond the end",
    "failures",
)


def test_acknowledged_records_survive_kill_9_under_load() -> None:
    check(kill_campaign(Random(1), kills=4))


def kill_campaign(random: Random, kills: int) -> tuple[Counter[str], KillWorkload]:
    with HeadwaterProcess({"retention_check_ms": "200", "compaction_check_ms": "200"}) as server:
        load = KillWorkload(server.bootstrap)
        with load.running():
            for _ in range(kills):
                load.wait_for_acks(random.randint(1, 4000))
                server.kill()
                server.restart()
            load.wait_for_acks(500)
        return load.verdict(), load


def check(result: tuple[Counter[str], KillWorkload]) -> None:
    counts, load = result
    assert counts["acknowledged"] > 0
    assert {each: counts[each] for each in BROKEN} == dict.fromkeys(BROKEN, 0), load.failures[:3]


@pytest.mark.parametrize("seconds", [2])
def test_broker_that_was_stopped_for_a_while_loses_nothing(seconds: float) -> None:
    check(pause_campaign(seconds))


def pause_campaign(seconds: float) -> tuple[Counter[str], KillWorkload]:
    with HeadwaterProcess() as server:
        load = KillWorkload(server.bootstrap)
        with load.running():
            load.wait_for_acks(500)
            os.kill(server.process.pid, signal.SIGSTOP)
            try:
                time.sleep(seconds)  # The length of the pause is what is tested.
            finally:
                os.kill(server.process.pid, signal.SIGCONT)
            load.wait_for_acks(500)
        return load.verdict(), load
