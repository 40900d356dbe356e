"""Read-only SQL over views, within limits.

Every query has a connection of its own, to nothing but the views that it names. It may only select; it
stops when its time is over; values and sorts are bounded, so that its memory is; what it sorts beyond that
lies in temporary files.
"""

import math
import sqlite3
import time
from base64 import b64encode
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any, Final, Self

from headwater.errors import Corruption, InvalidRequest
from headwater.followers.changes import Positions
from headwater.followers.sqlite.columns import quoted
from headwater.followers.sqlite.failures import error_of, is_damage
from headwater.followers.sqlite.query_database import (
    CACHE_KIB,
    authorize,
    open_database,
    took_too_long,
)
from headwater.followers.sqlite.question import Question
from headwater.followers.sqlite.reader import SqliteReader, size_of
from headwater.followers.sqlite.time_limit import is_interrupt, until
from headwater.followers.sqlite.trims import MOST_CHARACTERS

LONGEST_VALUE: Final = 1 << 20
LONGEST_OF_SLOW: Final = 128 << 10
_SLOW_FUNCTIONS: Final = {"instr", "replace", "json_patch", "jsonb_patch"}
"""Their time grows with the square of their values, and nothing can stop a function once it runs."""
FEW_COLUMNS: Final = 50
"""So many may be asked for in any case, and twice as many as the views have."""
_HINT: Final = "write one SELECT; see: headwater view list"


@dataclass(frozen=True, slots=True)
class Limits:
    rows: int
    answer_bytes: int
    time_s: float


@dataclass(frozen=True, slots=True)
class Table:
    """The answer to a query: values of JSON, and what each view was like when it was read."""

    columns: list[str]
    rows: list[list[Any]]
    as_of: Mapping[str, Positions]
    is_truncated: bool


class NoSuchTable(InvalidRequest):
    """A query names what is not among the views that it was given."""


class DamagedViews(Corruption):
    """A query has met damage, in these views or in some of them."""

    def __init__(self, views: Collection[str], error: Exception) -> None:
        names = ", ".join(map(repr, views))
        where = f"view {names} is" if len(views) == 1 else f"one of the views {names} is"
        super().__init__(f"{where} damaged: {error}", hint="it is built again from its topic")
        self.views = views


def run_query(
    question: Question,
    parameters: Sequence[Any],
    views: Mapping[str, SqliteReader],
    limits: Limits,
) -> Table:
    """Run one SELECT over the views that it reads.

    Raises `InvalidRequest`, `TimedOut` or `DamagedViews`.
    """
    slow = sorted(_SLOW_FUNCTIONS & {each.lower() for each in question.words})
    with ExitStack() as stack:
        query = stack.enter_context(_Query(limits, slow))
        for name, reader in views.items():
            stack.enter_context(reader.held())
            tables = [table for table, view in question.tables.items() if view == name]
            query.attach(name, reader, tables)
        query.limit_columns(sum(len(each.schema.columns) for each in views.values()))
        return query.run(question.text, parameters)


class _Query:
    """A connection for one query."""

    def __init__(self, limits: Limits, slow: Sequence[str]) -> None:
        self._limits = limits
        self._slow = slow
        self._longest_value = LONGEST_OF_SLOW if slow else LONGEST_VALUE
        self._deadline_s = time.monotonic() + limits.time_s
        self._schemas: dict[str, str] = {}
        self._files: dict[str, Path] = {}
        self._db = open_database()
        self._db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, self._longest_value)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def attach(self, name: str, reader: SqliteReader, tables: Sequence[str]) -> None:
        schema = f"view_{len(self._schemas)}"
        self._schemas[name] = schema
        self._files[name] = reader.file
        uri, names = f"{reader.file.resolve().as_uri()}?mode=ro", reader.schema.names
        with self._reading(name):
            self._db.execute(f"ATTACH ? AS {schema}", (uri,))
            self._db.execute(f"PRAGMA {schema}.cache_size = -{CACHE_KIB}")
            for table in tables:
                self._db.execute(
                    f"CREATE TEMP VIEW {quoted(table)} AS SELECT {names} FROM {schema}.rows"
                )

    def limit_columns(self, of_views: int) -> None:
        """A row is in memory as a whole: each of its values may be large, so they may not be many."""
        most = min(max(FEW_COLUMNS, 2 * of_views), self._db.getlimit(sqlite3.SQLITE_LIMIT_COLUMN))
        self._db.setlimit(sqlite3.SQLITE_LIMIT_COLUMN, most)

    def run(self, text: str, parameters: Sequence[Any]) -> Table:
        self._db.execute("BEGIN")
        as_of = {name: self._positions(name) for name in self._schemas}
        self._db.set_authorizer(authorize)
        with until(self._deadline_s, self._db):
            try:
                cursor = self._db.execute(text, list(parameters))
                if cursor.description is None:
                    raise InvalidRequest("this is not a query: it selects nothing", hint=_HINT)
                columns = _distinct(each[0] for each in cursor.description)
                rows, is_truncated = self._fetch(cursor)
            except (sqlite3.Error, sqlite3.Warning, OverflowError, UnicodeError) as error:
                raise self._error_of(error) from error
        return Table(columns, rows, as_of, is_truncated)

    def _positions(self, name: str) -> Positions:
        statement = f"SELECT partition, next_offset FROM {self._schemas[name]}.positions"
        with self._reading(name):
            return dict(self._db.execute(statement).fetchall())

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        """Around what is read of one view only."""
        try:
            yield
        except sqlite3.Error as error:
            found = error_of(error, self._files[name])
            if isinstance(found, Corruption):
                raise DamagedViews([name], error) from error
            raise found from error

    def _fetch(self, cursor: sqlite3.Cursor) -> tuple[list[list[Any]], bool]:
        rows: list[list[Any]] = []
        size = 0
        for line in cursor:
            size += size_of(line)
            if size > self._limits.answer_bytes and not rows:
                raise InvalidRequest(
                    f"a row of the answer is larger than {self._limits.answer_bytes} bytes",
                    hint="select fewer columns, or parts of them with substr",
                )
            if len(rows) == self._limits.rows or size > self._limits.answer_bytes:
                return rows, True
            rows.append([_json_value(each) for each in line])
        return rows, False

    def _damaged(self) -> list[str]:
        """The views in which SQLite finds damage; if it finds none in time, those that may have it."""
        self._db.set_authorizer(None)
        sound = {name: self._is_sound(name) for name in self._schemas}
        damaged = [name for name, is_sound in sound.items() if is_sound is False]
        return damaged or [name for name, is_sound in sound.items() if not is_sound] or [*sound]

    def _is_sound(self, name: str) -> bool | None:
        """None: there was no time left to tell."""
        try:
            found = self._db.execute(f"PRAGMA {self._schemas[name]}.quick_check(1)").fetchone()
        except sqlite3.Error as error:
            return False if is_damage(error) else None
        return bool(found == ("ok",))

    def _error_of(self, error: Exception) -> Exception:
        if is_interrupt(error):
            return took_too_long(self._limits.time_s)
        if is_damage(error):
            return DamagedViews(self._damaged(), error)
        if str(error).startswith("too many columns"):
            most = self._db.getlimit(sqlite3.SQLITE_LIMIT_COLUMN)
            return InvalidRequest(
                f"a SELECT of this query has more than {most} columns",
                hint="name those that you need instead of *, also in a SELECT inside another one",
            )
        if getattr(error, "sqlite_errorname", "") == "SQLITE_AUTH":
            return InvalidRequest("a query may only SELECT from views", hint=str(error))
        if getattr(error, "sqlite_errorname", "") in ("SQLITE_NOMEM", "SQLITE_TOOBIG"):
            return InvalidRequest(
                f"a value of the query would be larger than {self._longest_value} bytes",
                hint=f"a query without {' and '.join(self._slow)} may have {LONGEST_VALUE}"
                if self._slow
                else "select parts of it with substr",
            )
        if str(error).startswith("user-defined function"):
            return InvalidRequest(f"a trim removes at most {MOST_CHARACTERS} different characters")
        kind = NoSuchTable if str(error).startswith("no such table") else InvalidRequest
        return kind(f"this is not a query: {error}", hint=_HINT)


def _distinct(names: Iterable[str]) -> list[str]:
    """Who reads a row by column must find every value: `a`, `a:1`, as SQLite calls them in a subquery."""
    found: dict[str, None] = {}
    for name in names:
        others = (f"{name}:{number}" for number in count(1))
        found[next(each for each in chain([name], others) if each not in found)] = None
    return list(found)


def _json_value(value: Any) -> Any:
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return "Infinity" if value > 0 else "-Infinity"
    return value
