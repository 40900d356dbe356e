"""The disk as an argument: every byte the log writes goes through here, so tests can cut it off anywhere.

Writes append; `sync` makes a file's bytes durable, `sync_directory` makes names durable.
"""

import contextlib
import errno
import os
import shutil
import threading
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

Buffer = bytes | bytearray | memoryview

_WRITEV_LIMIT = 1024
_NOWAIT = getattr(os, "RWF_NOWAIT", None)


class File(Protocol):
    """An open file that grows at its end."""

    def append(self, buffers: Sequence[Buffer]) -> int:
        """Write all buffers at the end and return their size; after an error, `truncate` the tail."""

    def read(self, size: int, position: int) -> Buffer:
        """Return up to `size` bytes at `position`: fewer only at the end of the file."""

    def read_cached(self, size: int, position: int) -> Buffer | None:
        """Return the same if it costs no disk access; None means: use `read` on a thread."""

    def overwrite(self, data: bytes, position: int) -> None:
        """Replace bytes in place."""

    def truncate(self, size: int) -> None: ...

    def size(self) -> int: ...

    def sync(self) -> None:
        """Return once every byte written so far would survive a power cut."""

    def close(self) -> None: ...


class Disk(Protocol):
    """Files and directories."""

    @property
    def open_files(self) -> int:
        """How many files are open now."""

    def open(self, path: Path, *, create: bool = True) -> File:
        """Open for reading and appending; a file that is not there is created, or an `OSError`."""

    def read_bytes(self, path: Path) -> bytes | None:
        """Return the whole file, or None if it is not there."""

    def size(self, path: Path) -> int: ...

    def modified_ms(self, path: Path) -> int:
        """When the file was last written, on the wall clock."""

    def names(self, directory: Path) -> list[str]:
        """Return the names in a directory, sorted; none if it is not there."""

    def make_directory(self, path: Path) -> None:
        """Create the directory where it is missing, in one that is there."""

    def replace(self, path: Path, data: bytes) -> None:
        """Put a whole new content in place, durably, all or nothing."""

    def rename(self, old: Path, new: Path) -> None: ...

    def remove(self, path: Path) -> None: ...

    def remove_tree(self, path: Path) -> None: ...

    def sync_directory(self, path: Path) -> None: ...


def put(disk: Disk, path: Path, data: bytes) -> None:
    """Put a whole new content in place without waiting for the disk: for what can be made again."""
    temporary = path.with_name(path.name + ".tmp")
    disk.remove(temporary)
    file = disk.open(temporary)
    file.append([data])
    file.close()
    disk.rename(temporary, path)


class LocalFile:
    """A file descriptor of this machine; closed when the last reader lets go of it."""

    def __init__(self, path: Path, flags: int = os.O_RDWR | os.O_CREAT) -> None:
        self._descriptor = os.open(path, flags, 0o644)
        self._end = os.fstat(self._descriptor).st_size

    def append(self, buffers: Sequence[Buffer]) -> int:
        pending = [memoryview(each) for each in buffers]
        end = self._end
        while pending:
            written = os.pwritev(self._descriptor, pending[:_WRITEV_LIMIT], end)
            end += written
            pending = _after(pending, written)
        size = end - self._end
        self._end = end
        return size

    def read(self, size: int, position: int) -> Buffer:
        data = os.pread(self._descriptor, size, position)
        if len(data) == size or not data:
            return data
        parts = [data]
        got = len(data)
        while got < size and (more := os.pread(self._descriptor, size - got, position + got)):
            parts.append(more)
            got += len(more)
        return b"".join(parts)

    def read_cached(self, size: int, position: int) -> Buffer | None:
        # Both ends in memory: so is, almost always, what lies between; reading it all this way would
        # need a zeroed buffer, which costs as much as the read.
        is_cached = self._is_cached(position) and self._is_cached(position + size - 1)
        return self.read(size, position) if is_cached else None

    def _is_cached(self, position: int) -> bool:
        if _NOWAIT is None:
            return False
        try:
            return os.preadv(self._descriptor, [bytearray(1)], position, _NOWAIT) == 1
        except OSError:
            return False

    def read_no_more_than_asked(self) -> None:
        """Have no more read from disk than is asked for: syncs would wait behind it, megabytes per file."""
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(self._descriptor, 0, 0, os.POSIX_FADV_RANDOM)

    def overwrite(self, data: bytes, position: int) -> None:
        os.pwrite(self._descriptor, data, position)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)
        self._end = size

    def size(self) -> int:
        return os.fstat(self._descriptor).st_size

    def sync(self) -> None:
        _fdatasync(self._descriptor)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def __del__(self) -> None:
        with contextlib.suppress(OSError, AttributeError):
            self.close()


class LocalDisk:
    """The file system of this machine."""

    def __init__(self) -> None:
        self._spare = _Spare()
        self._opened: weakref.WeakSet[LocalFile] = weakref.WeakSet()

    @property
    def open_files(self) -> int:
        return len(self._opened)

    def open(self, path: Path, *, create: bool = True) -> File:
        file = LocalFile(path, os.O_RDWR | os.O_CREAT if create else os.O_RDWR)
        self._opened.add(file)
        file.read_no_more_than_asked()
        return file

    def read_bytes(self, path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None

    def size(self, path: Path) -> int:
        return path.stat().st_size

    def modified_ms(self, path: Path) -> int:
        return path.stat().st_mtime_ns // 1_000_000

    def names(self, directory: Path) -> list[str]:
        try:
            return sorted(each.name for each in os.scandir(directory))
        except FileNotFoundError:
            return []

    def make_directory(self, path: Path) -> None:
        path.mkdir(exist_ok=True)

    def replace(self, path: Path, data: bytes) -> None:
        temporary = path.with_name(path.name + ".tmp")
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
        file = self.open(temporary)
        try:
            file.append([data])
            file.sync()
        finally:
            file.close()
        self.rename(temporary, path)
        self.sync_directory(path.parent)

    def rename(self, old: Path, new: Path) -> None:
        old.rename(new)

    def remove(self, path: Path) -> None:
        path.unlink(missing_ok=True)

    def remove_tree(self, path: Path) -> None:
        shutil.rmtree(path, ignore_errors=True)

    def sync_directory(self, path: Path) -> None:
        try:
            _sync_directory(path)
        except OSError as error:
            if error.errno not in (errno.EMFILE, errno.ENFILE):
                raise
            # The log behind it would be given up, and the disk has nothing to do with it.
            with self._spare.lent():
                _sync_directory(path)


class ReadOnlyDisk(LocalDisk):
    """For tools that look at the data of a broker, which may be running."""

    def open(self, path: Path, *, create: bool = True) -> File:
        del create  # it never does
        return LocalFile(path, os.O_RDONLY)


class _Spare:
    """One file that is kept open, to have a place where there is none left."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._file = self._opened()

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        with self._lock:
            self._file.close()
            try:
                yield
            finally:
                self._file = self._opened()

    def _opened(self) -> LocalFile:
        return LocalFile(Path(os.devnull), os.O_RDONLY)


def _sync_directory(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _after(buffers: list[memoryview], written: int) -> list[memoryview]:
    """Return what is left once `written` bytes are out."""
    for index, each in enumerate(buffers):
        if written < len(each):
            return [each[written:], *buffers[index + 1 :]]
        written -= len(each)
    return []


_fdatasync = getattr(os, "fdatasync", os.fsync)
