"""The directory of a server's stores: `<directory>/<view>/<generation>.sqlite`, one server at a time."""

import fcntl
import logging
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

from headwater.errors import Conflict, Corruption, HeadwaterError, NotSupported, StorageFailed
from headwater.followers.changes import Positions
from headwater.followers.sqlite.store import SqliteStore
from headwater.followers.store import Store
from headwater.views import View

logger = logging.getLogger(__name__)

OLDEST: Final = (3, 38, 0)
_SUFFIX: Final = ".sqlite"
_TAKEN: Final = ("lock", "views.json")
"""Files of the directory itself: a view of such a name lies in `lock~`."""


class SqliteShelf:
    """Holds a lock on its directory until it is closed; raises `Conflict` if another server has it."""

    def __init__(self, directory: Path) -> None:
        if sqlite3.sqlite_version_info < OLDEST:
            raise NotSupported(
                f"views need SQLite {'.'.join(map(str, OLDEST))}, and this Python has "
                f"{sqlite3.sqlite_version}",
                hint="use a newer Python, or one that is linked to a newer SQLite",
            )
        self.directory = directory
        try:
            directory.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(directory / "lock")
        except OSError as error:
            raise StorageFailed(f"{directory} cannot be used: {error.strerror or error}") from error

    def names(self) -> list[str]:
        if not self.directory.exists():  # somebody has removed it: all can be built again
            return []
        folders = (each.name for each in self.directory.iterdir() if each.is_dir())
        return sorted(each.removesuffix("~") for each in folders)

    def stores(self, name: str) -> list[Store]:
        found: list[Store] = []
        for file in self._files(name):
            try:
                found.append(SqliteStore(file))
            except Corruption as error:
                logger.warning(
                    "a damaged store is set aside", extra={"view": name, "error": str(error)}
                )
                _delete(file)
            except HeadwaterError:
                for each in found:
                    each.close()
                raise
        return found

    def create(self, view: View, topic_id: str, start: Positions, now_ms: int) -> Store:
        files = self._files(view.name)
        generation = int(files[-1].stem) + 1 if files else 1
        file = self._folder(view.name) / f"{generation:08d}{_SUFFIX}"
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageFailed(f"{file} cannot be made: {error.strerror or error}") from error
        return SqliteStore.create(file, view, topic_id, start, now_ms)

    def remove(self, store: Store) -> None:
        assert isinstance(store, SqliteStore)
        store.close()
        _delete(store.file)

    def close(self) -> None:
        self._lock.close()

    def _files(self, name: str) -> list[Path]:
        return sorted(self._folder(name).glob(f"*{_SUFFIX}"))

    def _folder(self, name: str) -> Path:
        return self.directory / (f"{name}~" if name in _TAKEN else name)


def _delete(file: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        file.with_name(file.name + suffix).unlink(missing_ok=True)
    with suppress(OSError):  # it holds another build, or has gone already
        file.parent.rmdir()


def _locked(file: Path) -> IO[bytes]:
    lock = file.open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise Conflict(
            f"another server keeps its views in {file.parent}",
            hint="stop it, or choose another --data",
        ) from error
    return lock
