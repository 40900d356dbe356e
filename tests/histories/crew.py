"""The writers of a workload, each a process: started, killed, paused, usurped, and listened to."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from histories.history import Outcome, Transaction
from histories.journal import ENDED, told
from histories.writer import LIBRARY_ERROR, Order

TESTS: Final = Path(__file__).parents[1]
EXPECTED_ENDS: Final = {0, LIBRARY_ERROR, -signal.SIGKILL}


class WriterProcess:
    """One incarnation of a writer, and everything that it said."""

    def __init__(self, order: Order, errors: Path) -> None:
        self.order = order
        self.lines: list[dict[str, Any]] = []
        with errors.open("ab") as stderr:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "histories.writer", json.dumps(asdict(order))],
                cwd=TESTS,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=stderr,
                text=True,
                # A writer and what it starts are one group: they are killed and paused together.
                start_new_session=True,
            )

    def signal(self, number: signal.Signals) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, number)


class Crew:
    """Keeps one live incarnation of each writer, until `finish`."""

    def __init__(self, orders: list[Order], errors: Path) -> None:
        self.orders = {each.name: each for each in orders}
        self.errors = errors
        self.processes: list[WriterProcess] = []
        self.failures: list[str] = []
        self.ended = 0
        self._changed = threading.Condition()
        self._listeners: list[threading.Thread] = []
        self._is_stopping = False

    def start(self) -> None:
        for name in self.orders:
            self._start(name)

    def wait_for(self, more: int, within_s: float = 60) -> None:
        """Wait until so many more transactions have ended."""
        with self._changed:
            wanted = self.ended + more
            if not self._changed.wait_for(lambda: self.ended >= wanted, within_s):
                raise AssertionError(
                    f"no progress: {wanted - self.ended} of {more} transactions did not end.\n"
                    f"{self.errors.read_text(errors='replace')[-2000:]}"
                )

    def kill(self, name: str) -> None:
        """SIGKILL, in the middle of whatever it does; its next incarnation starts at once."""
        self._latest(name).signal(signal.SIGKILL)

    def usurp(self, name: str) -> None:
        """Start the next incarnation while this one still writes: the broker must fence it."""
        self._start(name)

    def pause(self, name: str) -> Callable[[], None]:
        """SIGSTOP; returns what lets it go on."""
        paused = self._latest(name)
        paused.signal(signal.SIGSTOP)
        return lambda: paused.signal(signal.SIGCONT)

    def finish(self, within_s: float = 40) -> None:
        """Let every writer end its transaction and go."""
        with self._changed:
            self._is_stopping = True
            running = list(self.processes)
        for each in running:
            each.signal(signal.SIGTERM)
        for each in running:
            try:
                each.process.wait(within_s)
            except subprocess.TimeoutExpired:
                self.failures.append(f"{each.order.writer} did not stop within {within_s} s")
                each.signal(signal.SIGKILL)
        for listener in list(self._listeners):
            listener.join()

    def kill_all(self) -> None:
        with self._changed:
            self._is_stopping = True
        for each in self.processes:
            each.signal(signal.SIGKILL)

    def transactions(self) -> list[Transaction]:
        return [each for process in self.processes for each in told(process.lines)]

    def without_success(self) -> list[str]:
        """The writers that never committed a transaction."""
        committed = {
            each.writer.rpartition(".")[0]
            for each in self.transactions()
            if each.outcome is Outcome.COMMITTED
        }
        return sorted(self.orders.keys() - committed)

    def _latest(self, name: str) -> WriterProcess:
        with self._changed:
            return next(each for each in reversed(self.processes) if each.order.name == name)

    def _start(self, name: str) -> None:
        with self._changed:
            if self._is_stopping:
                return
            order = self.orders[name]
            self.orders[name] = replace(order, incarnation=order.incarnation + 1)
            process = WriterProcess(order, self.errors)
            self.processes.append(process)
            listener = threading.Thread(target=self._listen, args=(process,), daemon=True)
            self._listeners.append(listener)
            listener.start()

    def _listen(self, process: WriterProcess) -> None:
        assert process.process.stdout is not None
        for line in process.process.stdout:
            if not line.endswith("\n"):
                break  # SIGKILL cut it: the deed it would have announced was not done.
            self._heard(process, json.loads(line))
        status = process.process.wait()
        if status not in EXPECTED_ENDS:
            self.failures.append(f"{process.order.writer} ended with status {status}")
        if self._latest(process.order.name) is process:
            self._start(process.order.name)

    def _heard(self, process: WriterProcess, line: dict[str, Any]) -> None:
        with self._changed:
            process.lines.append(line)
            self.ended += line["event"] == ENDED
            self._changed.notify_all()
