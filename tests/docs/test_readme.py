"""The README is true: its commands and its code are run as they stand there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli.test_help import ALL
from headwater.testing import Broker, ViewServer

README = (Path(__file__).parents[2] / "README.md").read_text()
SHELL, PRODUCING, PIPELINE, READING = re.findall(
    r"```(?:python)?\n((?:headwater init|import).*?)```", README, re.DOTALL
)
COMMANDS = [line.split("  #")[0].strip() for line in SHELL.splitlines()]
(TAIL,) = [each for each in COMMANDS if each.startswith("headwater topic tail")]


@pytest.fixture
def environment() -> dict[str, str]:
    bin_directory = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": f"{bin_directory}:{os.environ['PATH']}", "PYTHONUNBUFFERED": "1"}


def first_lines(program: str, count: int, env: dict[str, str], folder: Path) -> list[str]:
    """What a program prints that would go on for ever."""
    with subprocess.Popen(
        [sys.executable, "-c", program], env=env, cwd=folder, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline().rstrip() for _ in range(count)]
        process.kill()
    return lines


def test_every_command_of_the_readme_exists() -> None:
    paths = {path for path, _, _ in ALL}
    words = [each.split() for each in COMMANDS if each.startswith("headwater")]
    assert len(words) == 5
    assert all({" ".join(each[:2]), " ".join(each[:3])} & paths for each in words)


def test_code_and_commands_of_the_readme_work(tmp_path: Path, environment: dict[str, str]) -> None:
    with Broker() as broker:
        env = {**environment, "HEADWATER_BOOTSTRAP": broker.bootstrap}
        (value,) = first_lines(PRODUCING, 1, env, tmp_path)
        assert value == "{'id': '7', 'amount': 12.5, 'at': '2026-09-01T10:00:07Z'}"
        tail = subprocess.run(
            TAIL, shell=True, env=env, cwd=tmp_path, capture_output=True, text=True, check=False
        )
    assert tail.returncode == 0, tail.stderr
    assert '"amount":12.5' in tail.stdout


@pytest.mark.long
@pytest.mark.timeout(300)
def test_the_pipeline_of_the_readme_fills_the_view_that_it_reads(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not on PATH")
    (tmp_path / "pipelines.py").write_text(PIPELINE)
    with Broker() as broker, ViewServer(broker.bootstrap) as views:
        env = {
            **environment,
            "HEADWATER_BOOTSTRAP": broker.bootstrap,
            "HEADWATER_VIEWS_URL": views.url,
        }
        first_lines(PRODUCING, 1, env, tmp_path)
        command = [sys.executable, "-m", "headwater", "pipeline", "run", "--once"]
        done = subprocess.run(
            command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-2_000:]
        assert first_lines(READING, 2, env, tmp_path) == [
            "12.50",
            "snapshot 12.50",
        ]


def test_readme_fits_one_screen() -> None:
    assert len(README.splitlines()) <= 60
