"""The writers of a workload, each a process: started, killed, paused, usurped, and listened to."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, Final

from histories.history import Outcome, Transaction
from histories.journal import ENDED, told
from histories.writer import LIBRARY_ERROR, Order

TESTS: Final = Path(__file__).parents[1]
EXPECTED_ENDS: Final = {0, LIBRARY_ERROR, -signal.SIGKILL, -signal.SIGTERM}


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
        self._successful: set[str] = set()
        self._changed = threading.Condition()
        self._listeners: list[threading.Thread] = []
        self._is_stopping = False

    def start(self) -> None:
        for name in self.orders:
            self._start(name)

    def wait_for(self, more: int) -> None:
        """Wait until so many more transactions have ended."""
        wanted = self.ended + more
        self._await(lambda: self.ended >= wanted, f"{more} more transactions")

    def wait_for_everyone(self) -> None:
        """Wait until each writer has committed something."""
        self._await(lambda: self.orders.keys() <= self._successful, f"commits of {[*self.orders]}")

    def _await(self, condition: Callable[[], bool], what: str, within_s: float = 60) -> None:
        with self._changed:
            if not self._changed.wait_for(condition, within_s):
                errors = self.errors.read_text(errors="replace")[-2000:]
                raise AssertionError(f"there were not {what} within {within_s} s\n{errors}")

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

    def finish(self, within_s: float = 5) -> None:
        """Let every writer end its transaction and go; one that waits for too much is killed."""
        with self._changed:
            self._is_stopping = True
            running = list(self.processes)
        for each in running:
            each.process.terminate()
        deadline = time.monotonic() + within_s
        for each in running:
            try:
                each.process.wait(max(0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
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
        with process.process.stdout as lines:
            for line in lines:
                # A line that SIGKILL cut: the deed that it would have announced was not done.
                if line.endswith("\n"):
                    self._heard(process, json.loads(line))
        status = process.process.wait()
        if status not in EXPECTED_ENDS:
            self.failures.append(f"{process.order.writer} ended with status {status}")
        if self._latest(process.order.name) is process:
            self._start(process.order.name)

    def _heard(self, process: WriterProcess, line: dict[str, Any]) -> None:
        with self._changed:
            process.lines.append(line)
            if line["event"] == ENDED:
                self.ended += 1
                if line["outcome"] == Outcome.COMMITTED:
                    self._successful.add(process.order.name)
            self._changed.notify_all()
