"""Reading a store: each read in a transaction of its own, so that rows and positions are of one moment."""

import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

from headwater.errors import TimedOut, Unavailable
from headwater.followers.changes import Positions
from headwater.followers.sqlite.columns import add_decimal_collation
from headwater.followers.sqlite.failures import closed_on_failure, translated
from headwater.followers.sqlite.schema import Schema
from headwater.followers.sqlite.where_sql import condition
from headwater.followers.store import Answer, Page, Row
from headwater.views.where import Where

POSITIONS: Final = "SELECT partition, next_offset FROM positions"
_ROWS_AT_ONCE: Final = 500
_STEPS_BETWEEN_LOOKS: Final = 20_000


class SqliteReader:
    """A pool of connections to one file; each is used by one thread at a time."""

    def __init__(self, file: Path, schema: Schema) -> None:
        self.file = file
        self.schema = schema
        self._read_row = schema.row_reader()
        self._idle: list[sqlite3.Connection] = []
        self._in_use = 0
        self._lock = threading.Condition()
        self._is_closed = False

    def get(self, key: Mapping[str, Any]) -> Answer:
        with self._reading() as (db, as_of):
            line = db.execute(self.schema.get, self.schema.bind_key(key)).fetchone()
        return Answer([] if line is None else [self._read_row(line)], as_of)

    def scan(self, where: Where | None, page: Page) -> Answer:
        text, parameters = self._condition(where)
        if page.after is not None:
            text += f" AND ({self.schema.key_names}) > ({', '.join('?' * len(self.schema.key))})"
            parameters += self.schema.bind_key(page.after)
        statement = (
            f"SELECT {self.schema.names} FROM rows WHERE {text} "
            f"ORDER BY {self.schema.key_names} LIMIT ?"
        )
        with self._reading() as (db, as_of), _within(db, page.within_s):
            lines, is_cut = _fetch(db.execute(statement, [*parameters, page.limit]), page.max_bytes)
        return Answer([self._read_row(each) for each in lines], as_of, is_cut)

    def snapshot(self, where: Where | None) -> "SqliteSnapshot":
        text, parameters = self._condition(where)
        statement = f"SELECT {self.schema.names} FROM rows WHERE {text}"
        with ExitStack() as stack:
            db, as_of = stack.enter_context(self._reading())
            rows = self._rows_of(db.execute(statement, parameters))
            return SqliteSnapshot(as_of, rows, stack.pop_all().close)

    def count(self, within_s: float) -> int | None:
        with self._reading() as (db, _):
            try:
                with _within(db, within_s):
                    return int(db.execute("SELECT count(*) FROM rows").fetchone()[0])
            except TimedOut:
                return None

    def close(self) -> None:
        """Close once the last reader is done; who comes later is refused."""
        with self._lock:
            self._is_closed = True
            self._lock.wait_for(lambda: self._in_use == 0)
            for each in self._idle:
                each.close()
            self._idle.clear()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep the file while somebody reads it in another way."""
        with self._lock:
            self._refuse_if_closed()
            self._in_use += 1
        try:
            yield
        finally:
            self._let_go(None)

    def _condition(self, where: Where | None) -> tuple[str, list[Any]]:
        return ("1", []) if where is None else condition(where.term, self.schema.by_name)

    def _rows_of(self, lines: sqlite3.Cursor) -> Iterator[Row]:
        with translated(self.file):
            while some := lines.fetchmany(_ROWS_AT_ONCE):
                yield from map(self._read_row, some)

    @contextmanager
    def _reading(self) -> Iterator[tuple[sqlite3.Connection, Positions]]:
        db = self._lease()
        try:
            with translated(self.file):
                db.execute("BEGIN")
                try:
                    yield db, dict(db.execute(POSITIONS).fetchall())
                finally:
                    db.execute("ROLLBACK")
        finally:
            self._let_go(db)

    def _lease(self) -> sqlite3.Connection:
        with self._lock:
            self._refuse_if_closed()
            self._in_use += 1
            if self._idle:
                return self._idle.pop()
        try:
            with translated(self.file):
                return open_for_reading(self.file)
        except BaseException:
            self._let_go(None)
            raise

    def _let_go(self, db: sqlite3.Connection | None) -> None:
        with self._lock:
            self._in_use -= 1
            if db is not None:
                self._idle.append(db)
            self._lock.notify_all()

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise Unavailable("the view has just been built anew", hint="ask again")


class SqliteSnapshot:
    def __init__(self, as_of: Positions, rows: Iterator[Row], release: Callable[[], None]) -> None:
        self.as_of = as_of
        self._rows = rows
        self._release = release

    def __iter__(self) -> Iterator[Row]:
        return self._rows

    def close(self) -> None:
        self._release()


@contextmanager
def _within(db: sqlite3.Connection, within_s: float | None) -> Iterator[None]:
    """Raises `TimedOut` when what is done in it takes longer."""
    if within_s is None:
        yield
        return
    deadline = time.monotonic() + within_s
    db.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS_BETWEEN_LOOKS)
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname != "SQLITE_INTERRUPT":
            raise
        raise TimedOut(
            f"looking for rows took longer than {within_s:g} s",
            hint="ask for a range of the key, or for a column with an index",
        ) from error
    finally:
        db.set_progress_handler(None, 0)


def _fetch(lines: sqlite3.Cursor, max_bytes: int | None) -> tuple[list[Any], bool]:
    """All lines, or as many as there is room for, but one at least; and whether that was too few."""
    if max_bytes is None:
        return lines.fetchall(), False
    found: list[Any] = []
    room = max_bytes
    for line in lines:
        room -= size_of(line)
        if room < 0 and found:
            return found, True
        found.append(line)
    return found, False


def size_of(line: Sequence[Any]) -> int:
    """How many bytes it is, roughly."""
    return sum(len(each) if isinstance(each, str | bytes) else 8 for each in line)


def open_for_reading(file: Path) -> sqlite3.Connection:
    db = sqlite3.connect(
        f"{file.resolve().as_uri()}?mode=ro",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
    )
    with closed_on_failure(db):
        add_decimal_collation(db)
        db.execute("PRAGMA query_only = true")
    return db
