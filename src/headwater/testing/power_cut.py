"""A disk that records, and what a power cut at any moment would have left of it.

The model is the strict one: a file's bytes survive only if the file was synced after they were written, a
name only if its directory was synced after it changed. Whatever was not synced may survive or not, in any
combination, torn at any byte: that is for a `Survival` to choose.
"""

import errno
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from headwater.log.disk import Buffer, File, LocalDisk, LocalFile

ROOT = 0


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes put into a file."""

    inode: int
    position: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Truncate:
    """A file cut or extended to a size."""

    inode: int
    size: int


@dataclass(frozen=True, slots=True)
class Link:
    """A name for a file or a directory; with `instead_of`, a rename: both or neither survive."""

    inode: int
    """The directory in which the name is."""
    name: str
    target: int
    instead_of: str | None = None


@dataclass(frozen=True, slots=True)
class Unlink:
    """A name taken away."""

    inode: int
    name: str


@dataclass(frozen=True, slots=True)
class Sync:
    """A sync that has returned: changes of the file or directory before event `upto` are durable."""

    inode: int
    upto: int


@dataclass(frozen=True, slots=True)
class Mark:
    """A note of the test's own, for example: this record was acknowledged."""

    what: object


Change = Write | Truncate | Link | Unlink
Event = Change | Sync | Mark
Survival = Callable[[Change], Change | None]
"""Says what is left of a change that was not synced: all of it, less, or nothing."""


def nothing_unsynced(_: Change) -> None:
    """Only what was synced survives: the least that a disk may keep."""


def everything(change: Change) -> Change:
    """All changes survive, synced or not: what `kill -9` leaves."""
    return change


def at_random(random: Random) -> Survival:
    """Each unsynced change survives or not by chance; writes also torn, or as zeros."""

    def survive(change: Change) -> Change | None:
        fate = random.random()
        if fate < 0.4:
            return change
        if not isinstance(change, Write) or fate < 0.7:
            return None
        kept = change.data[: random.randrange(len(change.data) + 1)]
        is_extended = fate < 0.85
        return replace(change, data=kept.ljust(len(change.data), b"\0") if is_extended else kept)

    return survive


def file_by_file(random: Random) -> Survival:
    """All unsynced changes of a file survive, or none: the system wrote some files back before others."""
    kept: dict[int, bool] = {}
    return lambda change: change if kept.setdefault(change.inode, random.random() < 0.5) else None


@dataclass(slots=True)
class Recording:
    """Everything that was done to a directory, in order."""

    events: list[Event] = field(default_factory=list)
    directories: set[int] = field(default_factory=lambda: {ROOT})
    lock: threading.RLock = field(default_factory=threading.RLock)

    def __len__(self) -> int:
        return len(self.events)

    def mark(self, what: object) -> None:
        """Note that something happened at this point: it counts for every cut after it."""
        self.add(Mark(what))

    def add(self, event: Event) -> None:
        with self.lock:
            self.events.append(event)

    def marks(self, at: int) -> list[object]:
        """Return what was marked before a cut at event `at`."""
        return [each.what for each in self.events[:at] if isinstance(each, Mark)]

    def leave(self, at: int, into: Path, survival: Survival = nothing_unsynced) -> None:
        """Build in `into` what is left after a power cut just before event `at`."""
        files, directories = self._survivors(at, survival)
        _materialise(ROOT, into, files, directories)

    def _survivors(
        self, at: int, survival: Survival
    ) -> tuple[dict[int, bytearray], dict[int, dict[str, int]]]:
        past = self.events[:at]
        synced: dict[int, int] = {}
        for event in past:
            if isinstance(event, Sync):
                synced[event.inode] = max(event.upto, synced.get(event.inode, 0))
        files: dict[int, bytearray] = {}
        directories: dict[int, dict[str, int]] = {each: {} for each in self.directories}
        for index, event in enumerate(past):
            if isinstance(event, Sync | Mark):
                continue
            is_durable = index < synced.get(event.inode, 0)
            change = event if is_durable else survival(event)
            if change is not None:
                _apply(change, files, directories)
        return files, directories


def _apply(
    change: Change, files: dict[int, bytearray], directories: dict[int, dict[str, int]]
) -> None:
    if isinstance(change, Write):
        data = files.setdefault(change.inode, bytearray())
        data.extend(bytes(max(0, change.position - len(data))))
        data[change.position : change.position + len(change.data)] = change.data
    elif isinstance(change, Truncate):
        data = files.setdefault(change.inode, bytearray())
        del data[change.size :]
        data.extend(bytes(change.size - len(data)))
    elif isinstance(change, Link):
        entries = directories[change.inode]
        if change.instead_of is not None:
            entries.pop(change.instead_of, None)
        entries[change.name] = change.target
    else:
        directories[change.inode].pop(change.name, None)


def _materialise(
    inode: int, path: Path, files: dict[int, bytearray], directories: dict[int, dict[str, int]]
) -> None:
    path.mkdir(exist_ok=True)
    for name, target in directories[inode].items():
        if target in directories:
            _materialise(target, path / name, files, directories)
        else:
            (path / name).write_bytes(files.get(target, b""))


class RecordedFile(LocalFile):
    """A file whose every change is written down; a sync is believed, not done."""

    def __init__(
        self, path: Path, recording: Recording, inode: int, sync_seconds: Callable[[], float]
    ) -> None:
        super().__init__(path)
        self._recording = recording
        self._inode = inode
        self._sync_seconds = sync_seconds

    def append(self, buffers: Sequence[Buffer]) -> int:
        with self._recording.lock:
            position = self._end
            size = super().append(buffers)
            data = b"".join(bytes(each) for each in buffers)
            self._recording.add(Write(self._inode, position, data))
            return size

    def overwrite(self, data: bytes, position: int) -> None:
        with self._recording.lock:
            super().overwrite(data, position)
            self._recording.add(Write(self._inode, position, data))

    def truncate(self, size: int) -> None:
        with self._recording.lock:
            super().truncate(size)
            self._recording.add(Truncate(self._inode, size))

    def sync(self) -> None:
        upto = len(self._recording)
        if seconds := self._sync_seconds():
            time.sleep(seconds)
        self._recording.add(Sync(self._inode, upto))


class RecordingDisk(LocalDisk):
    """The directory `root` of this machine, with a `recording` of all that happens in it.

    What is there at the beginning counts as durable. Give it to a `Broker` or a log, then ask
    `disk.recording.leave(at, into)` for what a power cut would have left at any point.

    A sync of a file takes `sync_seconds()`: the longer it takes, the more happens that it does not cover.
    """

    def __init__(self, root: Path, sync_seconds: Callable[[], float] = lambda: 0) -> None:
        super().__init__()
        self.root = root
        self._sync_seconds = sync_seconds
        self.recording = Recording()
        self._names: dict[int, dict[str, int]] = {ROOT: {}}
        self._inodes = 1
        root.mkdir(parents=True, exist_ok=True)
        self._import(root, ROOT)

    def open(self, path: Path, *, create: bool = True) -> File:
        with self.recording.lock:
            inode = self._inode_of(path)
            if inode is None and not create:
                raise FileNotFoundError(errno.ENOENT, "No such file", str(path))
            inode = self._new(path) if inode is None else inode
            return RecordedFile(path, self.recording, inode, self._sync_seconds)

    def make_directory(self, path: Path) -> None:
        with self.recording.lock:
            missing = [each for each in (path, *path.parents) if not each.is_dir()]
            for each in reversed(missing):
                each.mkdir()
                self._new(each, is_directory=True)

    def rename(self, old: Path, new: Path) -> None:
        with self.recording.lock:
            directory = self._directory_of(old)
            if old.name not in self._names[directory]:
                self._adopt(old)
            os.rename(old, new)  # noqa: PTH104 - as it is in LocalDisk, but under our lock
            target = self._names[directory].pop(old.name)
            self._names[directory][new.name] = target
            self.recording.add(Link(directory, new.name, target, instead_of=old.name))

    def remove(self, path: Path) -> None:
        with self.recording.lock:
            super().remove(path)
            if self._inode_of(path) is not None:
                self._forget(path)

    def remove_tree(self, path: Path) -> None:
        with self.recording.lock:
            if (inode := self._inode_of(path)) is None:
                return
            for name in list(self._names[inode]):
                if self._names[inode][name] in self._names:
                    self.remove_tree(path / name)
                else:
                    self.remove(path / name)
            shutil.rmtree(path, ignore_errors=True)
            self._forget(path)

    def sync_directory(self, path: Path) -> None:
        with self.recording.lock:
            if not path.is_dir():
                raise FileNotFoundError(path)
            inode = ROOT if path == self.root else self._inode_of(path)
            if inode is not None:
                self.recording.add(Sync(inode, len(self.recording)))

    def _new(self, path: Path, *, is_directory: bool = False) -> int:
        inode = self._inodes
        self._inodes += 1
        if is_directory:
            self._names[inode] = {}
            self.recording.directories.add(inode)
        directory = self._directory_of(path)
        self._names[directory][path.name] = inode
        self.recording.add(Link(directory, path.name, inode))
        return inode

    def _adopt(self, path: Path) -> None:
        """Take over a file that another process wrote, and synced (large compactions)."""
        inode = self._new(path)
        self.recording.add(Write(inode, 0, path.read_bytes()))
        self.recording.add(Sync(inode, len(self.recording)))

    def _import(self, path: Path, inode: int) -> None:
        for each in sorted(path.iterdir()):
            if each.is_dir():
                self._import(each, self._new(each, is_directory=True))
            else:
                self._adopt(each)
        self.recording.add(Sync(inode, len(self.recording)))

    def _forget(self, path: Path) -> None:
        directory = self._directory_of(path)
        del self._names[directory][path.name]
        self.recording.add(Unlink(directory, path.name))

    def _directory_of(self, path: Path) -> int:
        if path.parent == self.root:
            return ROOT
        inode = self._inode_of(path.parent)
        if inode is None:
            raise FileNotFoundError(path.parent)
        return inode

    def _inode_of(self, path: Path) -> int | None:
        inode = ROOT
        for name in path.relative_to(self.root).parts:
            found = self._names.get(inode, {}).get(name)
            if found is None:
                return None
            inode = found
        return inode


def cuts(recording: Recording, start: int, random: Random, count: int | None) -> Iterator[int]:
    """Return cut points from event `start` on: all of them, or a sample of `count` in order."""
    points = range(start, len(recording) + 1)
    if count is None or count >= len(points):
        yield from points
    else:
        yield from sorted(random.sample(points, count))
