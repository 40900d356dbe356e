"""Two runs of one pipeline do not share its checkpoints."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.errors import Conflict, InvalidRequest
from headwater.streams.run.checkpoints import Checkpoints
from headwater.streams.run.lock import alone
from headwater.streams.run.runner import Runner
from headwater.streams.run.surroundings import Surroundings
from streams.shop import Shop, per_customer

HOLDING = """
import sys
from pathlib import Path
from headwater.streams.run.lock import alone
with alone(Path(sys.argv[1]), "shop"):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_run_is_refused_until_the_first_has_ended_or_was_killed(tmp_path: Path) -> None:
    lock = Checkpoints(tmp_path).lock_of("shop")
    command = [sys.executable, "-c", HOLDING, str(lock)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "held\n"
        with pytest.raises(Conflict, match=f"'shop' runs already: process {first.pid} on "):
            alone(lock, "shop").__enter__()
        first.kill()
    with alone(lock, "shop"):
        assert f"process {os.getpid()} on " in lock.read_text()
    with alone(lock, "shop"):
        pass
    assert not Checkpoints(tmp_path).knows("shop"), "a lock was taken for a checkpoint"


FORKING = """
import os, sys
from pathlib import Path
from headwater.streams.run.lock import alone
with alone(Path(sys.argv[1]), "shop"):
    if os.fork() == 0:
        print("held", flush=True)  # By now it has let go of its copy of the lock.
        sys.stdin.read()
        os._exit(0)
    sys.stdin.read()
"""


def test_what_a_killed_run_had_forked_does_not_hold_its_lock(tmp_path: Path) -> None:
    lock = Checkpoints(tmp_path).lock_of("shop")
    command = [sys.executable, "-c", FORKING, str(lock)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "held\n"
        first.kill()
        first.wait()
        with alone(lock, "shop"):
            assert f"process {os.getpid()} on " in lock.read_text()


def test_a_run_holds_its_checkpoints(shop: Shop) -> None:
    shop.pipeline.materialized_view(name="totals", key="customer")(per_customer)
    with shop.running() as running:
        running.wait_for("totals", lambda status: status.state == "running")
        with pytest.raises(Conflict, match="runs already"):
            shop.once()


def test_a_time_between_batches_that_is_none_is_refused_before_anything_runs(
    shop: Shop, tmp_path: Path
) -> None:
    shop.pipeline.materialized_view(name="totals", key="customer")(per_customer)
    where = Surroundings(shop.where.bootstrap, tmp_path, trigger_interval="soon")
    with pytest.raises(InvalidRequest, match="'soon' is no time from one batch to the next"):
        Runner(shop.spark, shop.client, where).run([shop.pipeline.graph()], None)  # type: ignore[arg-type]
