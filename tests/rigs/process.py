"""A broker as a process of its own: started, awaited by protocol, watched, stopped or killed.

Knows how to talk just enough Kafka to see that a broker answers; not which broker it is.
"""

import os
import socket
import struct
import subprocess
import time
from pathlib import Path


class Unavailable(Exception):
    """A real part cannot be had on this machine; `str()` is the reason, in one line."""


class BrokerProcess:
    """One broker process on a port. It is ready once it has described itself over the protocol."""

    def __init__(
        self, command: list[str], port: int, log: Path, environment: dict[str, str] | None = None
    ) -> None:
        self.command = command
        self.port = port
        self.log = log
        self.environment = environment
        self.process: subprocess.Popen[bytes] | None = None
        self.start_seconds = 0.0

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def start(self, ready_within_s: float = 60) -> None:
        began = time.monotonic()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self.environment,
                # Not where the tests run: a headwater.toml there is not for this broker.
                cwd=self.log.parent,
            )
        try:
            self._wait_until_ready(began + ready_within_s)
        except BaseException:
            self.kill()
            raise
        self.start_seconds = time.monotonic() - began

    def stop(self, within_s: float = 60) -> None:
        """Ask for a clean shutdown (SIGTERM) and wait for it."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.terminate()
        try:
            self.process.wait(within_s)
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"the broker ignored SIGTERM for {within_s} s") from None

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def resident_bytes(self) -> int:
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("the process has no resident memory: it has ended")

    def cpu_seconds(self) -> float:
        """Processor time of all its threads, user and system."""
        fields = self._fields()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def page_faults(self) -> int:
        """How often it was given a page of memory."""
        return int(self._fields()[7])

    def _fields(self) -> list[str]:
        # The name of the program, in parentheses, may hold spaces: count fields after it.
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()

    def _wait_until_ready(self, deadline: float) -> None:
        assert self.process is not None
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise AssertionError(
                    f"the broker ended with status {self.process.returncode}:\n{self._log_tail()}"
                )
            if describes_itself("127.0.0.1", self.port):
                return
            # The port is not open yet: there is nothing that could wake us.
            time.sleep(0.01)
        raise AssertionError(f"the broker did not answer in time:\n{self._log_tail()}")

    def _log_tail(self) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-20:])


def describes_itself(host: str, port: int) -> bool:
    """Whether a broker answers Metadata with at least itself."""
    # Metadata v1, correlation id 1, no client id, an empty topic list (v1: none of them).
    body = struct.pack(">hhih", 3, 1, 1, -1) + struct.pack(">i", 0)
    try:
        with socket.create_connection((host, port), timeout=2) as connection:
            connection.sendall(struct.pack(">i", len(body)) + body)
            stream = connection.makefile("rb")
            (size,) = struct.unpack(">i", stream.read(4))
            _correlation_id, brokers = struct.unpack(">ii", stream.read(size)[:8])
    except (OSError, struct.error):
        return False
    return brokers > 0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
