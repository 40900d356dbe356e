"""The shop's processes: `headwater ...` in the shop's folder, as a user would type it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any


class HeadwaterProcess:
    """One command that goes on; in a process group of its own, so that a kill takes all of it."""

    def __init__(self, folder: Path, name: str, *arguments: str) -> None:
        self.name = name
        self.arguments = arguments
        self._folder = folder
        self._log = folder / f"{name}.log"
        self._process: subprocess.Popen[str] | None = None

    def start(self, *more: str) -> None:
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "headwater", *self.arguments, *more, "--json"],
                cwd=self._folder,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )

    def address(self, name: str) -> str:
        """Wait for the line in which it says where it is; it says so once it answers."""
        process = self._running()
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(self.last_words())
        return str(json.loads(line)[name])

    def kill(self) -> None:
        """SIGKILL to all of it: no goodbye, no last sync."""
        process = self._running()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def stop(self) -> None:
        """SIGTERM to the command, which ends what it has started; what is left is killed."""
        if self._process is None:
            return
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=20)
        self.kill()

    def refuse_if_ended(self) -> None:
        if self._running().poll() is not None:
            raise RuntimeError(self.last_words())

    def last_words(self) -> str:
        lines = self._log.read_text().splitlines()
        return f"the {self.name} has ended by itself:\n" + "\n".join(lines[-20:])

    def _running(self) -> subprocess.Popen[str]:
        assert self._process is not None, f"the {self.name} was not started"
        return self._process


def run_headwater(folder: Path, *arguments: str) -> Any:
    """A command that ends; returns the document that it prints."""
    command = [sys.executable, "-m", "headwater", *arguments, "--json"]
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)
