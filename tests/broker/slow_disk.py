"""A disk whose syncs wait until they are told to go on."""

import threading
from pathlib import Path

from headwater.log.disk import File, LocalDisk, LocalFile


class SlowFile(LocalFile):
    def __init__(self, path: Path, disk: "SlowDisk") -> None:
        super().__init__(path)
        self._disk = disk

    def sync(self) -> None:
        if not self._disk.may_sync.is_set():
            self._disk.is_waiting.set()
            self._disk.may_sync.wait()
        super().sync()


class SlowDisk(LocalDisk):
    """Fast until `hold`, then every sync of a file waits for `release`."""

    def __init__(self) -> None:
        super().__init__()
        self.may_sync = threading.Event()
        self.may_sync.set()
        self.is_waiting = threading.Event()

    def open(self, path: Path, *, create: bool = True) -> File:
        del create
        return SlowFile(path, self)

    def hold(self) -> None:
        self.is_waiting.clear()
        self.may_sync.clear()

    def release(self) -> None:
        self.may_sync.set()
