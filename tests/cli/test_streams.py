"""Standard streams that are full or closed: one sentence, and never the exit code of a success."""

import subprocess
import sys
from collections.abc import Callable, Sequence

import pytest

from headwater.client import Client

Redirected = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def redirected(environment: dict[str, str]) -> Redirected:
    """Run a command line as a shell does, with its redirections: `>&-` closes stdout."""

    def run(redirections: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "headwater", *arguments]
        return subprocess.run(
            ["sh", "-c", f'exec "$@" {redirections}', "sh", *command],
            env={**environment, "PYTHONUNBUFFERED": ""},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.mark.parametrize(
    "arguments",
    [
        ["topic", "list"],
        ["topic", "list", "--json"],
        ["topic", "export", "TOPIC"],
        ["topic", "tail", "TOPIC", "-o", ":end"],
        ["doctor"],
        ["--help"],
    ],
)
def test_a_full_disk_under_stdout_is_one_sentence(
    redirected: Redirected, client: Client, topic: str, arguments: Sequence[str]
) -> None:
    client.send(topic, 1)
    result = redirected("> /dev/full", *(topic if each == "TOPIC" else each for each in arguments))
    assert result.returncode == 1
    assert result.stderr.splitlines()[-2:] == [
        "error: cannot write the output: no space left on device",
        "hint: free some space, or write to another disk",
    ]
    assert "Traceback" not in result.stderr
    assert "Exception" not in result.stderr


def test_a_closed_stdout_is_refused_before_anything_is_done(
    redirected: Redirected, client: Client, topic: str
) -> None:
    result = redirected(">&-", "topic", "delete", topic, "--yes")
    assert result.returncode == 1
    assert result.stderr.startswith("error: stdout is closed")
    assert topic in client.admin.topics.names()


def test_a_closed_stderr_hides_the_error_but_not_its_code(
    redirected: Redirected, topic: str
) -> None:
    assert redirected("2>&-", "topic", "describe", f"{topic}x").returncode == 3
    assert redirected("2>&-", "topic", "describe", topic).returncode == 0


def test_a_closed_stdin_is_not_an_empty_one(redirected: Redirected, topic: str) -> None:
    result = redirected("<&-", "topic", "produce", topic)
    assert result.returncode == 1
    assert result.stderr.startswith("error: stdin is closed")


def test_nobody_is_asked_on_a_closed_stdin(redirected: Redirected, topic: str) -> None:
    result = redirected("<&-", "topic", "delete", topic)
    assert result.returncode == 2
    assert "there is no terminal to ask at" in result.stderr
