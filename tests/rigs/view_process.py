"""A server of views as a process of its own, through the command a user would type."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Self

from rigs.process import free_port


class ViewProcess:
    """`headwater view serve` on a directory and a port of its own; it can be killed and started again."""

    def __init__(self, bootstrap: str, data: Path, **settings: str) -> None:
        self.data = data
        self.http = f"127.0.0.1:{free_port()}"
        self.url = f"http://{self.http}"
        self._bootstrap = bootstrap
        self._settings = {f"HEADWATER_VIEWS_{k.upper()}": value for k, value in settings.items()}
        self._log = data.with_suffix(".log")
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> Self:
        """Return once requests are answered."""
        # Into a file: nobody would empty a pipe, and a full one stops the server.
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "headwater", "view", "serve", "--json"),
                    *("--bootstrap", self._bootstrap, "--http", self.http),
                    *("--data", str(self.data)),
                ],
                env={**os.environ, **self._settings},
                cwd=self.data.parent,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise AssertionError(self._log.read_text())
        assert json.loads(line)["http"] == self.url
        return self

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None

    def stop(self) -> int:
        """SIGTERM; the exit code."""
        assert self._process is not None
        self._process.terminate()
        self._process.communicate(timeout=20)
        return self._process.returncode

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.kill()
