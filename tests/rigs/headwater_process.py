"""Our broker as a process of its own, through the command a user would type."""

import os
import sys
import tempfile
from pathlib import Path
from typing import Self

from rigs.process import BrokerProcess, free_port


class HeadwaterProcess:
    """`headwater serve` in a temporary directory, on a free port.

    The same face as `ApacheKafka`. `settings` are those of `headwater serve --print-config`.
    """

    def __init__(
        self, settings: dict[str, str] | None = None, directory: Path | None = None
    ) -> None:
        self.settings = settings or {}
        self.port = free_port()
        self.bootstrap = f"127.0.0.1:{self.port}"
        self._given_directory = directory

    def __enter__(self) -> Self:
        self._directory = tempfile.TemporaryDirectory(prefix="headwater-serve-")
        self.directory = self._given_directory or Path(self._directory.name) / "data"
        serve = [sys.executable, "-m", "headwater", "serve"]
        self.process = BrokerProcess(
            [*serve, "--data", str(self.directory), "--listen", self.bootstrap],
            self.port,
            Path(self._directory.name) / "server.log",
            environment=os.environ | _environment(self.settings),
        )
        try:
            self.process.start()
        except BaseException:
            self._directory.cleanup()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.process.stop()
        finally:
            self._directory.cleanup()

    @property
    def start_seconds(self) -> float:
        return self.process.start_seconds

    def kill(self) -> None:
        """SIGKILL: what a crash of the process leaves behind is on disk."""
        self.process.kill()

    def stop(self) -> None:
        self.process.stop()

    def restart(self) -> None:
        """Start again on the same directory and port; a broker still running is stopped first."""
        self.process.stop()
        self.process.start()


def _environment(settings: dict[str, str]) -> dict[str, str]:
    return {f"HEADWATER_{name.upper()}": value for name, value in settings.items()}
