"""Which views a query reads: those that SQLite looks for as its tables, and no others.

A column may be called like a view, so the text alone cannot tell. SQLite can: it is given the query over
empty tables, and each table that it misses is made, if there is a view that is called so.
"""

import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Final

from headwater.errors import InvalidRequest
from headwater.followers.sqlite.columns import quoted
from headwater.followers.sqlite.query_database import (
    MOST_VIEWS,
    authorize,
    open_database,
    took_too_long,
)
from headwater.followers.sqlite.sql_text import (
    in_backticks,
    in_double_quotes,
    is_explained,
    quote_dotted,
    words_in,
)
from headwater.followers.sqlite.time_limit import is_interrupt, until
from headwater.followers.sqlite.view_names import ViewNames
from headwater.views import View

_MISSING: Final = "no such table: "
_NO_COLUMN: Final = "no such column: "


@dataclass(frozen=True, slots=True)
class Question:
    """A query as SQLite takes it."""

    text: str
    words: frozenset[str]
    """Everything in it that may be a name."""
    tables: Mapping[str, str]
    """The view that each of its tables is."""

    @property
    def views(self) -> list[str]:
        return list(dict.fromkeys(self.tables.values()))


def understand(text: str, known: Mapping[str, View], within_s: float) -> Question:
    """Raises `InvalidRequest` for what SQLite would understand wrongly, and for too many views.

    What else is wrong shows when it is run.
    """
    names, words = ViewNames(known), frozenset(words_in(text))
    tables: dict[str, str] = {}

    def view_of(dotted: str) -> str | None:
        """Of two parts it may also be a column of a table, until SQLite looks for a table."""
        view = names.find_full(dotted)
        return view if dotted.count(".") > 1 or view in tables.values() else None

    with closing(open_database()) as db, _in_time(db, within_s):
        while True:
            asked = quote_dotted(text, view_of, names.most_parts)
            table = _missing_table(db, asked)
            view = None if table is None else names.find(table)
            if table is None or view is None or view == _view_called(tables, table):
                break
            tables[table] = view
            _refuse_two_of_a_name(tables, words, names)
            if len(set(tables.values())) > MOST_VIEWS:
                raise InvalidRequest(f"a query can read {MOST_VIEWS} views, and this names more")
            columns = ", ".join(quoted(each.name) for each in known[view].columns)
            db.execute(f"CREATE TEMP TABLE {quoted(table)} ({columns})")
        _refuse_strings_in_double_quotes(db, asked)
    return Question(asked, words, tables)


@contextmanager
def _in_time(db: sqlite3.Connection, within_s: float) -> Iterator[None]:
    with until(time.monotonic() + within_s, db):
        try:
            yield
        except sqlite3.OperationalError as error:
            if is_interrupt(error):
                raise took_too_long(within_s) from error
            raise


def _missing_table(db: sqlite3.Connection, text: str) -> str | None:
    """The table that SQLite looks for first and does not find."""
    wrong = _what_is_wrong(db, text)
    return wrong.removeprefix(_MISSING) if wrong.startswith(_MISSING) else None


def _refuse_strings_in_double_quotes(db: sqlite3.Connection, text: str) -> None:
    """SQLite takes what is called like no column for a string: a mistyped name would be an answer."""
    names = in_double_quotes(text)
    wrong = _what_is_wrong(db, in_backticks(text)) if names else ""
    name = wrong.removeprefix(_NO_COLUMN)
    if name != wrong and name in names:
        raise InvalidRequest(
            f"there is no column {name[:100]!r}", hint="text stands in single quotes"
        )


def _what_is_wrong(db: sqlite3.Connection, text: str) -> str:
    """What SQLite says of a query, in its words; nothing is run."""
    db.set_authorizer(authorize)
    try:
        db.execute(text if is_explained(text) else f"EXPLAIN {text}").close()
    except (sqlite3.Error, sqlite3.Warning, UnicodeError) as error:
        if is_interrupt(error):
            raise
        return str(error)
    finally:
        db.set_authorizer(None)
    return ""


def _view_called(tables: Mapping[str, str], name: str) -> str | None:
    """As SQLite finds it, which knows no case."""
    return next((view for table, view in tables.items() if table.lower() == name.lower()), None)


def _refuse_two_of_a_name(
    tables: Mapping[str, str], words: frozenset[str], names: ViewNames
) -> None:
    """SQLite would take one view for the other."""
    folded = {table.lower() for table in tables}
    for word in (*tables, *(each for each in words if each.lower() in folded)):
        if names.find(word) not in (None, _view_called(tables, word)):
            raise InvalidRequest(
                f"{word!r} is more than one view to SQL, which knows no upper and lower case",
                hint="ask for each view in a query of its own",
            )
