"""`trim` and its kin mean what SQLite means by them."""

import sqlite3

import pytest

from headwater.followers.sqlite.trims import add_trims

VALUES = (
    *("' ab '", "'xxabx'", "'äöä'", "''", "x'6162'", "NULL", "true"),
    *("7", "123456789012345678", "7.0", "-0.5", "1e15", "1e16", "1e300", "1.5e-7", "0.1 + 0.2"),
    *("9e999", "-9e999"),
)
REMOVED = ("", ", ' '", ", 'x'", ", '0'", ", 'ä'", ", ''", ", NULL", ", 7", ", 1.0", ", '.0'")


@pytest.mark.parametrize("name", ["trim", "ltrim", "rtrim", "TRIM"])
def test_text_is_trimmed_as_sqlite_does(name: str) -> None:
    own, ours = sqlite3.connect(":memory:"), sqlite3.connect(":memory:")
    add_trims(ours)
    for value in VALUES:
        for removed in REMOVED:
            sql = f"SELECT {name}({value}{removed})"
            assert (sql, *ours.execute(sql)) == (sql, *own.execute(sql))
    own.close()
    ours.close()
