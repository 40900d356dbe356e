"""A disk that fails when it is told to: full, broken, slow, or dead from a crash point on.

    disk = FaultyDisk()
    with Broker(disk=disk) as broker:
        disk.inject(Fault("sync", errno.EIO, path="orders-0/*"))

Operations have the names of the `File` and `Disk` methods: append, overwrite, truncate, sync, read, open,
replace, rename, remove, remove_tree, make_directory, sync_directory.
"""

import errno
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from headwater.log.disk import Buffer, Disk, File, LocalDisk

T = TypeVar("T")


class Crashed(OSError):
    """The crash point was reached: for this disk the process is dead."""

    def __init__(self) -> None:
        super().__init__(errno.EIO, "crashed here, on purpose")


@dataclass(slots=True)
class Fault:
    """An error in place of an operation on files that match `path` (as in `Path.match`)."""

    operation: str
    error: int
    path: str = "*"
    skip: int = 0
    """Let so many matching operations pass first."""
    times: int | None = None
    """Then fail so many; None: until `heal`."""
    written: float = 0.0
    """For append: this share of the bytes is written before the error, as a full disk does."""

    def strikes(self, operation: str, path: Path) -> bool:
        if operation != self.operation or not path.match(self.path) or self.times == 0:
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        if self.times is not None:
            self.times -= 1
        return True


@dataclass(slots=True)
class CrashPoint:
    """The moment before an operation; from then on the disk does nothing any more.

    A broker on it acknowledges nothing and leaves everything as it is, so after `stop` its directory is
    what `kill -9` at that moment would have left.
    """

    operation: str
    path: str = "*"
    skip: int = 0
    reached: threading.Event = field(default_factory=threading.Event)


class FaultyDisk:
    """Another disk (default: the real one), with faults."""

    def __init__(self, disk: Disk | None = None) -> None:
        self._disk = disk or LocalDisk()
        self._faults: list[Fault] = []
        self._crash_points: list[CrashPoint] = []
        self._held: dict[str, tuple[threading.Event, threading.Event]] = {}
        self._lock = threading.Lock()
        self.is_dead = False
        self.struck = 0
        """How many operations have failed so far."""

    def inject(self, fault: Fault) -> Fault:
        """Let operations fail from now on."""
        with self._lock:
            self._faults.append(fault)
        return fault

    def heal(self) -> None:
        """End all faults, as when space is freed."""
        with self._lock:
            self._faults.clear()

    def crash_at(self, point: CrashPoint) -> CrashPoint:
        """Die when this point is reached; wait for it with `point.reached`."""
        with self._lock:
            self._crash_points.append(point)
        return point

    @contextmanager
    def holding(self, operation: str) -> Iterator[threading.Event]:
        """Let every such operation wait until the block ends: the slowest disk there is.

        The event is set as soon as one waits.
        """
        reached, released = self._held[operation] = (threading.Event(), threading.Event())
        try:
            yield reached
        finally:
            del self._held[operation]
            released.set()

    @property
    def open_files(self) -> int:
        return self._disk.open_files

    def open(self, path: Path, *, create: bool = True) -> File:
        return FaultyFile(
            self.do("open", path, lambda: self._disk.open(path, create=create)), path, self
        )

    def read_bytes(self, path: Path) -> bytes | None:
        return self._disk.read_bytes(path)

    def size(self, path: Path) -> int:
        return self._disk.size(path)

    def modified_ms(self, path: Path) -> int:
        return self._disk.modified_ms(path)

    def names(self, directory: Path) -> list[str]:
        return self._disk.names(directory)

    def make_directory(self, path: Path) -> None:
        self.do("make_directory", path, lambda: self._disk.make_directory(path))

    def replace(self, path: Path, data: bytes) -> None:
        self.do("replace", path, lambda: self._disk.replace(path, data))

    def rename(self, old: Path, new: Path) -> None:
        self.do("rename", new, lambda: self._disk.rename(old, new))

    def remove(self, path: Path) -> None:
        self.do("remove", path, lambda: self._disk.remove(path))

    def remove_tree(self, path: Path) -> None:
        self.do("remove_tree", path, lambda: self._disk.remove_tree(path))

    def sync_directory(self, path: Path) -> None:
        self.do("sync_directory", path, lambda: self._disk.sync_directory(path))

    def do(self, operation: str, path: Path, action: Callable[[], T]) -> T:
        """Do it, unless it must wait, fail, or the disk is dead."""
        fault = self.verdict(operation, path)
        if fault is not None:
            raise OSError(fault.error, os.strerror(fault.error), str(path))
        return action()

    def verdict(self, operation: str, path: Path) -> Fault | None:
        """Return the fault that strikes this operation, if any; raises `Crashed`."""
        if (held := self._held.get(operation)) is not None:
            reached, released = held
            reached.set()
            released.wait()
        with self._lock:
            self._die_at(operation, path)
            if self.is_dead:
                raise Crashed
            struck = [each for each in self._faults if each.strikes(operation, path)]
            self.struck += bool(struck)
            return struck[0] if struck else None

    def _die_at(self, operation: str, path: Path) -> None:
        for each in self._crash_points:
            if operation == each.operation and path.match(each.path):
                each.skip -= 1
                if each.skip < 0:
                    self.is_dead = True
                    each.reached.set()


class FaultyFile:
    """An open file of a `FaultyDisk`."""

    def __init__(self, file: File, path: Path, disk: FaultyDisk) -> None:
        self._file = file
        self._path = path
        self._disk = disk

    def append(self, buffers: Sequence[Buffer]) -> int:
        fault = self._disk.verdict("append", self._path)
        if fault is None:
            return self._file.append(buffers)
        data = b"".join(bytes(each) for each in buffers)
        if (kept := int(len(data) * fault.written)) > 0:
            self._file.append([data[:kept]])
        raise OSError(fault.error, os.strerror(fault.error), str(self._path))

    def read(self, size: int, position: int) -> Buffer:
        return self._disk.do("read", self._path, lambda: self._file.read(size, position))

    def read_cached(self, size: int, position: int) -> Buffer | None:
        return self._file.read_cached(size, position)

    def overwrite(self, data: bytes, position: int) -> None:
        self._disk.do("overwrite", self._path, lambda: self._file.overwrite(data, position))

    def truncate(self, size: int) -> None:
        self._disk.do("truncate", self._path, lambda: self._file.truncate(size))

    def size(self) -> int:
        return self._file.size()

    def sync(self) -> None:
        self._disk.do("sync", self._path, self._file.sync)

    def close(self) -> None:
        self._file.close()
