"""SQLite's errors as ours: what a full disk, a damaged file and a bad record mean to a follower."""

import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from headwater.errors import Corruption, HeadwaterError, StorageFailed, Unavailable

_DAMAGED: Final = ("SQLITE_CORRUPT", "SQLITE_NOTADB", "SQLITE_FORMAT")
_NO_SPACE: Final = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_READONLY", "SQLITE_CANTOPEN")
_CHECK: Final = re.compile(r"CHECK constraint failed: (.*)", re.DOTALL)
_NULL: Final = re.compile(r"NOT NULL constraint failed: rows\.(.*)", re.DOTALL)


@contextmanager
def translated(file: Path) -> Iterator[None]:
    """Around every use of a store's file."""
    try:
        yield
    except sqlite3.Error as error:
        raise error_of(error, file) from error


@contextmanager
def closed_on_failure(db: sqlite3.Connection) -> Iterator[None]:
    """Around the first use of a connection: a file that turns out to be damaged is let go."""
    try:
        yield
    except BaseException:
        db.close()
        raise


def error_of(error: sqlite3.Error, file: Path) -> HeadwaterError:
    name = getattr(error, "sqlite_errorname", "") or ""
    if is_damage(error):
        return Corruption(
            f"{file} is damaged: {error}", hint="the view is built again from its topic"
        )
    if name == "SQLITE_CANTOPEN" and not file.exists():
        return Corruption(f"{file} has gone", hint="the view is built again from its topic")
    if name.startswith(_NO_SPACE):
        return StorageFailed(
            f"{file} cannot be written: {error}", hint="free some space: it goes on by itself"
        )
    return Unavailable(f"{file}: {error}")


def is_damage(error: Exception) -> bool:
    return (getattr(error, "sqlite_errorname", "") or "").startswith(_DAMAGED)


def is_about_data(error: sqlite3.Error) -> bool:
    """Whether a statement failed because of what it was to store."""
    if isinstance(error, sqlite3.IntegrityError | sqlite3.DataError):
        return True
    return getattr(error, "sqlite_errorname", "") == "SQLITE_ERROR" and "JSON" in str(error)


def reason_of(error: Exception) -> str:
    """One clause for the dead letter of a record."""
    text = str(error)
    if found := _CHECK.fullmatch(text):
        return found[1]
    if found := _NULL.fullmatch(text):
        return f"{found[1]} is null or missing"
    if isinstance(error, UnicodeDecodeError):
        return "the value is not UTF-8"
    return "the value is not JSON" if "JSON" in text else text
