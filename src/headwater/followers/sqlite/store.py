"""One view in one SQLite file, written by one thread.

Invariant: rows and positions change in the same transaction. A power cut may take the last transactions
(they are synced with the next checkpoint, not one by one), but always both together: the follower then
reads those records again from the topic.
"""

import json
import re
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Final

from headwater.errors import Conflict, Corruption, InvalidRequest
from headwater.followers.changes import Changes, Positions, Rejected
from headwater.followers.sqlite.columns import add_decimal_collation
from headwater.followers.sqlite.failures import (
    closed_on_failure,
    is_about_data,
    reason_of,
    translated,
)
from headwater.followers.sqlite.reader import SqliteReader
from headwater.followers.sqlite.schema import Schema
from headwater.followers.store import Reject, Row
from headwater.views import View, decode_definition, encode_definition

CACHE_BYTES: Final = 64 << 20
CHECKPOINT_PAGES: Final = 8192
_NUL: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


class SqliteStore:
    """Made by `SqliteShelf`."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._lock = threading.Lock()
        with translated(file):
            self._db = _open(file)
            try:
                meta = dict(self._db.execute("SELECT name, value FROM meta").fetchall())
                self.view = decode_definition(meta["definition"].encode())
                self.topic_id = meta["topic_id"]
                self.is_complete = meta["is_complete"] == "true"
                self.caught_up_ms = int(meta["caught_up_ms"]) or None
                self._begun_ms = int(meta["begun_ms"])
            except (sqlite3.Error, KeyError, ValueError, InvalidRequest) as error:
                self._db.close()
                raise Corruption(f"{file} is damaged, or was never finished: {error}") from error
        self._schema = Schema(self.view)
        self.reader = SqliteReader(file, self._schema)

    @classmethod
    def create(
        cls, file: Path, view: View, topic_id: str, start: Positions, now_ms: int
    ) -> "SqliteStore":
        """A new file; the positions are where the topic begins."""
        meta = {
            "definition": encode_definition(view).decode(),
            "topic_id": topic_id,
            "is_complete": "false",
            "caught_up_ms": "0",
            "begun_ms": str(now_ms),
        }
        with translated(file), closing(_open(file)) as db:
            db.execute("BEGIN IMMEDIATE")
            for statement in Schema(view).tables():
                db.execute(statement)
            db.executemany("INSERT INTO meta VALUES (?, ?)", meta.items())
            db.executemany("INSERT INTO positions VALUES (?, ?)", start.items())
            db.execute("COMMIT")
        return cls(file)

    @property
    def fresh_ms(self) -> int:
        return self.caught_up_ms or self._begun_ms

    def positions(self) -> dict[int, int]:
        with self._lock, translated(self.file):
            return self._positions()

    def apply(
        self, changes: Changes, *, caught_up_ms: int | None, reject: Reject
    ) -> list[Rejected]:
        """See `Store`."""
        poll = changes.poll
        with self._transaction():
            stored = self._positions()
            wanted = self._still_to_do(changes, stored)
            rejected = [
                *wanted.rejected,
                *self._write(self._upsert, wanted.upserts, wanted.upserts_at),
                *self._write(self._delete, wanted.deletes, wanted.deletes_at),
            ]
            places = [(poll.partitions[each.place], poll.offsets[each.place]) for each in rejected]
            unknown = [
                each
                for each, place in zip(rejected, places, strict=True)
                if not self._is_rejected(place)
            ]
            if unknown:
                reject(unknown)
            self._remember(
                (*place, each.reason) for place, each in zip(places, rejected, strict=True)
            )
            moved = [(p, offset) for p, offset in poll.next.items() if offset > stored.get(p, -1)]
            self._db.executemany("INSERT OR REPLACE INTO positions VALUES (?, ?)", moved)
            if caught_up_ms is not None:
                self._note_caught_up(caught_up_ms)
        if caught_up_ms is not None:
            self.is_complete, self.caught_up_ms = True, caught_up_ms
        return rejected

    def rows(self, keys: Sequence[bytes]) -> dict[bytes, Row]:
        read = self._schema.row_reader()
        with self._lock, translated(self.file):
            lines = self._db.execute(self._schema.select_keys, (_json_array(keys),)).fetchall()
        return {keys[place]: read(line) for place, *line in lines}

    def rejections(self) -> list[tuple[int, int, str]]:
        with self._lock, translated(self.file):
            return self._db.execute("SELECT partition, offset, reason FROM rejected").fetchall()

    def remember_rejections(self, rejections: Iterable[tuple[int, int, str]]) -> None:
        with self._transaction():
            self._remember(rejections)

    def mark_caught_up(self, now_ms: int) -> None:
        with self._transaction():
            self._note_caught_up(now_ms)
        self.is_complete, self.caught_up_ms = True, now_ms

    def close(self) -> None:
        self.reader.close()
        with self._lock, translated(self.file):
            self._db.close()

    def _still_to_do(self, changes: Changes, stored: Positions) -> Changes:
        start = changes.poll.start
        if start == stored:
            return changes
        for partition, offset in start.items():
            if offset > stored.get(partition, -1):
                raise Conflict(
                    f"{self.view.topic}/{partition}: a batch begins at {offset}, and the store is at "
                    f"{stored.get(partition)}: what is between would be missing"
                )
        return changes.since(stored)

    def _upsert(self, rows: Sequence[bytes]) -> None:
        taken = _json_array(rows)
        if "\\u" in taken:
            _refuse_unstorable_text(taken)
        has_not_finite = 'Infinity"' in taken
        statement = self._schema.upsert(has_not_finite=has_not_finite)
        written = self._db.execute(statement, (taken,)).rowcount
        if written != len(rows):
            raise sqlite3.DataError("not one JSON value")

    def _delete(self, keys: Sequence[bytes]) -> None:
        self._db.execute(self._schema.delete, (_json_array(keys),))

    def _write(
        self,
        write: Callable[[Sequence[bytes]], None],
        items: Sequence[bytes],
        places: Sequence[int],
    ) -> list[Rejected]:
        """Write all at once; if that fails, halve until those to blame stand alone."""
        if not items:
            return []
        self._db.execute("SAVEPOINT part")
        try:
            write(items)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            if isinstance(error, sqlite3.Error) and not is_about_data(error):
                raise
            self._db.execute("ROLLBACK TO part")
            self._db.execute("RELEASE part")
            if len(items) == 1:
                return [Rejected(places[0], reason_of(error))]
            half = len(items) // 2
            return [
                *self._write(write, items[:half], places[:half]),
                *self._write(write, items[half:], places[half:]),
            ]
        self._db.execute("RELEASE part")
        return []

    def _positions(self) -> dict[int, int]:
        return dict(self._db.execute("SELECT partition, next_offset FROM positions").fetchall())

    def _is_rejected(self, place: tuple[int, int]) -> bool:
        found = self._db.execute(
            "SELECT 1 FROM rejected WHERE partition = ? AND offset = ?", place
        ).fetchone()
        return found is not None

    def _remember(self, rejections: Iterable[tuple[int, int, str]]) -> None:
        self._db.executemany("INSERT OR IGNORE INTO rejected VALUES (?, ?, ?)", rejections)

    def _note_caught_up(self, now_ms: int) -> None:
        noted = {"is_complete": "true", "caught_up_ms": str(now_ms)}
        self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", noted.items())

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock, translated(self.file):
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise


def _json_array(items: Sequence[bytes]) -> str:
    return (b"[" + b",".join(items) + b"]").decode()


def _refuse_unstorable_text(taken: str) -> None:
    """SQLite would cut text at a NUL, and could not give back half of a surrogate pair."""
    if _NUL.search(taken):
        raise sqlite3.DataError("a text has a NUL character in it")
    if _SURROGATE.search(taken):
        try:
            json.dumps(json.loads(taken), ensure_ascii=False).encode()
        except (ValueError, RecursionError) as error:
            raise sqlite3.DataError("a text has half of a surrogate pair in it") from error


def _open(file: Path) -> sqlite3.Connection:
    db = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    with closed_on_failure(db):
        add_decimal_collation(db)
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute(f"PRAGMA cache_size = -{CACHE_BYTES >> 10}")
        db.execute(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES}")
    return db
