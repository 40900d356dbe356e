"""The command line against the broker under test (`bootstrap`, see tests/conftest.py)."""

import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import pytest

from headwater.cli.main import run
from rigs.client_fixtures import client, group, new_topic, topic

__all__ = ["client", "group", "new_topic", "topic"]

# A client of an earlier test that is not collected yet and misses its broker; commands log nothing so.
_LOGS_OF_OTHERS = re.compile(r"^%\d\|[^|]*\|\w+\|rdkafka#.*\n", re.MULTILINE)


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def documents(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def rows(self) -> list[list[str]]:
        """The tab-separated lines, without the header."""
        return [line.split("\t") for line in self.out.splitlines()[1:]]


class Run(Protocol):
    def __call__(self, *arguments: object, stdin: bytes = b"") -> Result: ...


@pytest.fixture
def headwater(
    bootstrap: str, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> Run:
    """Run a command line in this process, as in a pipe."""

    def call(*arguments: object, stdin: bytes = b"") -> Result:
        capfdbinary.readouterr()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = run([*map(str, arguments), "--bootstrap", bootstrap])
        sys.stdout.flush()
        out, err = capfdbinary.readouterr()
        return Result(code, out.decode(), _LOGS_OF_OTHERS.sub("", err.decode()))

    return call


@pytest.fixture
def environment(bootstrap: str) -> dict[str, str]:
    return {**os.environ, "HEADWATER_BOOTSTRAP": bootstrap}


def _listen_to_ctrl_c() -> None:
    """A shell starts background jobs deaf to Ctrl-C; a test run as one must not pass that on."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def headwater_process(environment: dict[str, str]) -> Callable[..., subprocess.Popen[bytes]]:
    """Start a command line as a process of its own, with pipes."""

    def start(*arguments: object, **options: Any) -> subprocess.Popen[bytes]:
        pipes = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
        command = [sys.executable, "-m", "headwater", *map(str, arguments)]
        return subprocess.Popen(
            command,
            env=environment,
            preexec_fn=_listen_to_ctrl_c,  # noqa: PLW1509  nothing else happens in it
            **{"stdin": subprocess.DEVNULL, **pipes, **options},
        )

    return start
