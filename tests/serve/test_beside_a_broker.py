"""The server of views that a broker starts beside itself: it ends with the broker, and says nothing."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def running(command: str, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A broker with views, both ready, in a process group of their own."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "headwater", command, "--log-level", "warning"),
            *("--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"),
        ],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Kafka ")
        assert process.stdout.readline().startswith("Views ")
        yield process
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("command", ["dev", "serve"])
def test_sigterm_of_the_broker_is_no_fatal_error_of_its_views(command: str, tmp_path: Path) -> None:
    with running(command, tmp_path) as broker:
        broker.terminate()
        assert broker.communicate(timeout=30) == ("", "")
        assert broker.returncode == 0


def test_ctrl_c_reaches_both_and_neither_complains(tmp_path: Path) -> None:
    with running("dev", tmp_path) as broker:
        os.killpg(broker.pid, signal.SIGINT)
        assert broker.communicate(timeout=30) == ("", "")


def test_views_end_with_a_broker_that_is_killed(tmp_path: Path) -> None:
    with running("dev", tmp_path) as broker:
        broker.kill()
        # Their output is closed when both have ended.
        output, _ = broker.communicate(timeout=30)
        assert output == ""
        assert not (tmp_path / ".headwater/views/views.json").exists()
