"""Damage to the file of a store."""

import sqlite3
from contextlib import closing
from pathlib import Path


def damage_root(file: Path) -> None:
    """The first page of the rows: nobody can read any of them."""
    with closing(sqlite3.connect(file)) as db:
        find = "SELECT rootpage FROM sqlite_master WHERE name = 'rows'"
        page = db.execute(find).fetchone()[0]
    raw = bytearray(file.read_bytes())
    raw[(page - 1) * 4096 : page * 4096] = b"\xa5" * 4096
    file.write_bytes(raw)
