"""A Java program as a process of its own: started, stopped, killed; its output goes to a file."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Final, Self

# Tests are short: what only pays off after minutes is left out.
JVM_OPTIONS: Final = (
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-Xmx512m",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)


class JavaProcess:
    def __init__(
        self,
        classpath: str,
        program: list[str],
        log: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.command = ["java", *JVM_OPTIONS, "-cp", classpath, *program]
        self.log = log
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self.kill()

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environment,
            )

    def kill(self) -> None:
        """SIGKILL: it has no time to say goodbye."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self, within_s: float = 60) -> None:
        """SIGTERM: it may finish what it does."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(within_s)

    def check(self) -> None:
        """Fail with what it wrote if it has ended."""
        if self._process is not None and self._process.poll() is not None:
            lines = self.log.read_text(errors="replace").splitlines()[-20:]
            raise AssertionError(f"{self.command[-2]} has ended:\n" + "\n".join(lines))
