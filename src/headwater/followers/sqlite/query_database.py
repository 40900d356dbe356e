"""The database of one query: in memory, empty, bounded, and it may only be read."""

import sqlite3
from typing import Any, Final

from headwater.errors import TimedOut
from headwater.followers.sqlite.columns import add_decimal_collation
from headwater.followers.sqlite.trims import add_trims

MOST_VIEWS: Final = 10
LONGEST_TEXT: Final = 100_000
CACHE_KIB: Final = 8192
_LIMITS: Final = {
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: LONGEST_TEXT,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 50,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
    sqlite3.SQLITE_LIMIT_ATTACHED: MOST_VIEWS,
}
_ALLOWED: Final = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE}
_HIDDEN: Final = {"meta", "positions", "rejected", "gone"}
_OF_QUERY: Final = (None, "temp")
"""Here the tables are what the query calls so, in the others what a store does."""
_FORBIDDEN_FUNCTIONS: Final = {
    "load_extension",
    "fts3_tokenizer",
    # They grow without regard to the limit of a value.
    "json_group_array",
    "json_group_object",
    "jsonb_group_array",
    "jsonb_group_object",
}


def open_database() -> sqlite3.Connection:
    db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False, uri=True)
    add_decimal_collation(db)
    add_trims(db)
    for limit, value in _LIMITS.items():
        db.setlimit(limit, value)
    db.execute("PRAGMA temp_store = FILE")
    db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
    # Their first use declares a table, which a query itself may not do.
    db.execute("SELECT 1 FROM json_each('[]'), json_tree('[]')")
    return db


def authorize(
    action: int, first: str | None, second: str | None, schema: str | None, _: Any
) -> int:
    """What a query may do; see `sqlite3.Connection.set_authorizer`."""
    if action == sqlite3.SQLITE_READ:
        table = (first or "").lower()
        is_hidden = table in _HIDDEN and schema not in _OF_QUERY
        is_own = table.startswith("sqlite_") and schema is not None
        return sqlite3.SQLITE_DENY if is_hidden or is_own else sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION:
        is_forbidden = (second or "").lower() in _FORBIDDEN_FUNCTIONS
        return sqlite3.SQLITE_DENY if is_forbidden else sqlite3.SQLITE_OK
    return sqlite3.SQLITE_OK if action in _ALLOWED else sqlite3.SQLITE_DENY


def took_too_long(time_s: float) -> TimedOut:
    return TimedOut(
        f"the query took longer than {time_s:g} s",
        hint="ask for less: fewer rows, a range of the key, a view that is aggregated",
    )
