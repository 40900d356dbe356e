"""The directory a broker owns: one broker at a time, one identity, and the word of a clean shutdown.

lock             held by flock while a broker runs
meta             cluster id, written once
clean-shutdown   a summary of every log; removed as soon as it was read
<topic>-<n>/     one directory per partition that ever held a record
"""

import base64
import fcntl
import json
import os
import uuid
from collections.abc import Mapping
from dataclasses import astuple
from pathlib import Path
from typing import Final

from headwater.errors import Conflict, Corruption, StorageFailed
from headwater.log import checksummed
from headwater.log.disk import Disk
from headwater.log.recovery import Summary

META_MAGIC: Final = b"HWMT"
CLEAN_MAGIC: Final = b"HWCS"


class DataDirectory:
    """A locked data directory."""

    def __init__(self, disk: Disk, path: Path) -> None:
        self._disk = disk
        self.path = path
        self._lock: int | None = None

    def lock(self) -> None:
        """Take the directory for this process; raises `Conflict` if another broker has it."""
        try:
            self._make()
            self._lock = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise StorageFailed(
                f"cannot use {self.path} as data directory: {error.strerror}",
                hint="choose another with --data",
            ) from error
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._lock)
            self._lock = None
            raise Conflict(
                f"another broker is using {self.path}", hint="stop it, or choose another --data"
            ) from error

    def _make(self) -> None:
        """Create the directory and its parents; their names are durable, like all that will be inside."""
        missing = [each for each in (self.path, *self.path.parents) if not each.exists()]
        for each in [*reversed(missing), self.path]:
            self._disk.make_directory(each)
        for each in missing:
            self._disk.sync_directory(each.parent)

    def unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def cluster_id(self) -> str:
        """Return the identity of this cluster; made at the first start."""
        path = self.path / "meta"
        data = self._disk.read_bytes(path)
        if data is not None:
            return _cluster_id_in(data, path)
        made = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        document = json.dumps({"cluster_id": made}).encode()
        self._disk.replace(path, checksummed.wrap(META_MAGIC, document))
        return made

    def take_summaries(self) -> dict[str, Summary] | None:
        """Return what a clean shutdown wrote, once: from now on only the files themselves count."""
        path = self.path / "clean-shutdown"
        data = self._disk.read_bytes(path)
        if data is None:
            return None
        self._disk.remove(path)
        self._disk.sync_directory(self.path)
        try:
            written = json.loads(checksummed.unwrap(CLEAN_MAGIC, data))
        except Corruption:
            return None
        return {
            name: Summary(start, end, epoch, tuple(tuple(each) for each in segments))
            for name, (start, end, epoch, segments) in written.items()
        }

    def write_summaries(self, summaries: Mapping[str, Summary]) -> None:
        document = json.dumps({name: astuple(each) for name, each in summaries.items()})
        self._disk.replace(
            self.path / "clean-shutdown", checksummed.wrap(CLEAN_MAGIC, document.encode())
        )


def _cluster_id_in(data: bytes, path: Path) -> str:
    try:
        return str(json.loads(checksummed.unwrap(META_MAGIC, data))["cluster_id"])
    except Corruption as error:
        raise Corruption(
            f"{path} is damaged: {error.what}",
            hint="restore it from a backup; without it, a new cluster id is made: remove the file",
        ) from error
