"""The README is true: its commands and its code are run as they stand there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.testing import Broker

README = (Path(__file__).parents[2] / "README.md").read_text()
SHELL, *PYTHON = re.findall(r"```(?:python)?\n(?=headwater dev|import)(.*?)```", README, re.DOTALL)


@pytest.fixture
def environment() -> dict[str, str]:
    bin_directory = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": f"{bin_directory}:{os.environ['PATH']}", "PYTHONUNBUFFERED": "1"}


def test_commands_of_the_readme_work(tmp_path: Path, environment: dict[str, str]) -> None:
    lines = [line.split("  #")[0].strip() for line in SHELL.splitlines()]
    one_shot = [each for each in lines if each and "serve" not in each and "dev" not in each]
    with Broker() as broker:
        env = {**environment, "HEADWATER_BOOTSTRAP": broker.bootstrap}
        results = [
            subprocess.run(
                line, shell=True, env=env, cwd=tmp_path, capture_output=True, text=True, check=False
            )
            for line in one_shot
        ]
    assert len(one_shot) == 4
    # The group of the last one does not exist yet, and the command says so.
    assert [each.returncode for each in results] == [0, 0, 0, 3]
    assert '"total": 12.5' in results[2].stdout


def test_code_of_the_readme_works(tmp_path: Path, environment: dict[str, str]) -> None:
    with Broker() as broker:
        env = {**environment, "HEADWATER_BOOTSTRAP": broker.bootstrap}
        with subprocess.Popen(
            [sys.executable, "-c", PYTHON[0]], env=env, cwd=tmp_path, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"{'id': 7, 'total': 12.5}\n"
            process.kill()


def test_readme_fits_one_screen() -> None:
    assert len(README.splitlines()) <= 60
