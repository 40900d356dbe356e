"""What a benchmark looks at beside the load: processor time, memory, other programs, the disk."""

import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final, TypeVar

from rigs.brokers import Broker

T = TypeVar("T")


class OtherPrograms:
    """Processor time that programs took other than this run and what it started.

    The kernel's own threads and interrupts work for the run: they are not other programs.
    """

    _LOOK_S: Final = 0.5

    def __init__(self) -> None:
        self._began, self._busy = time.monotonic(), _busy_ticks()
        self._before = _ticks_of_family()
        self._ours = dict(self._before)
        # Looked at now and then: what a killed parent leaves behind is nobody's child any more.
        threading.Thread(target=self._look, daemon=True).start()

    def cores(self) -> float:
        """Cores in use by others on average."""
        self._ours |= _ticks_of_family()
        ours = sum(self._ours.values()) - sum(self._before.values())
        others = (_busy_ticks() - self._busy - ours) / os.sysconf("SC_CLK_TCK")
        return max(0.0, others / (time.monotonic() - self._began))

    def _look(self) -> None:
        while True:
            time.sleep(self._LOOK_S)
            self._ours |= _ticks_of_family()


def _busy_ticks() -> int:
    # cpu user nice system idle iowait irq softirq steal: time of all cores since the start.
    return sum(int(word) for word in Path("/proc/stat").read_text().split("\n")[0].split()[1:4])


def _ticks_of_family() -> dict[int, int]:
    """Processor time so far of this process and all below it that run, and of the kernel's threads."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for each in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = each.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # It has just ended.
        process = int(each.parent.name)
        parents[process] = int(fields[1])
        ticks[process] = sum(map(int, fields[11:13]))
    family = {os.getpid()} | _kernel()
    while found := {each for each, parent in parents.items() if parent in family} - family:
        family |= found
    return {each: ticks[each] for each in family}


def _kernel() -> set[int]:
    """The parent of the kernel's threads, where it can be seen."""
    comm = Path("/proc/2/comm")
    return {2} if comm.exists() and comm.read_text().strip() == "kthreadd" else set()


def percentile(samples: list[float], rank: int) -> float:
    return statistics.quantiles(samples, n=100)[rank - 1]


def apart(function: Callable[..., T], *arguments: Any) -> T:
    """Call the load in a process of its own, so that it shares no interpreter with anything."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


@dataclass
class Cpu:
    seconds: float = 0.0


@contextmanager
def broker_cpu(broker: Broker) -> Iterator[Cpu]:
    used = Cpu()
    began = broker.process.cpu_seconds()
    yield used
    used.seconds = broker.process.cpu_seconds() - began


@dataclass
class Peak:
    bytes: int = 0


@contextmanager
def peak_memory(broker: Broker) -> Iterator[Peak]:
    peak, finished = Peak(), threading.Event()

    def watch() -> None:
        while not finished.wait(0.05):
            peak.bytes = max(peak.bytes, broker.process.resident_bytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield peak
    finally:
        finished.set()
        watcher.join()


def drop_page_cache(directory: Path) -> None:
    """Make files cold; what is on disk already can be dropped from memory."""
    for path in directory.rglob("*"):
        if path.is_file():
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            finally:
                os.close(descriptor)


def let_disk_settle(directory: Path, within_s: float = 60) -> None:
    """Wait until a small write is synced quickly again: what was written before is still under way."""
    deadline = time.monotonic() + within_s
    quick = 0
    with (directory.parent / "settle").open("wb") as probe:
        while quick < 50 and time.monotonic() < deadline:
            began = time.monotonic()
            probe.write(b"x")
            probe.flush()
            os.fdatasync(probe.fileno())
            quick = quick + 1 if time.monotonic() - began < 0.01 else 0
