"""A column may have any name that a statement of the store uses itself."""

from pathlib import Path
from typing import Any

import pytest

from followers.polls import apply, gone, poll, put, rows_of
from headwater.followers.sqlite.shelf import SqliteShelf
from headwater.followers.store import Page
from headwater.views import encode_key
from headwater.views.where import parse_where
from rigs.changelog import make_view

NAMES = (
    *("place", "wanted", "given", "rows", "key", "value", "k0", "k1", "gone", "forget"),
    *("excluded", "new", "old", "rowid", "_rowid_", "oid", "true", "false", "null", "meta"),
    *("positions", "rejected", "select", "$", "a.b", "it's", "json", "atom", "fullkey", "?1"),
)


@pytest.mark.parametrize("name", NAMES)
def test_no_name_of_a_column_changes_what_a_statement_means(tmp_path: Path, name: str) -> None:
    for columns, key in (
        ({name: "int", "n": "int"}, (name,)),
        ({"id": "int", "n": "int", name: "boolean"}, ("id",)),
        ({"id": "int", name: "string", "n": "int"}, ("id", name)),
    ):
        view = make_view("shop.odd", columns, key=key, indexes=((name,),))

        def row(number: int, columns: dict[str, str] = columns) -> dict[str, Any]:
            of = {"int": number, "boolean": False, "string": f"t{number}"}
            return {column: of[kind] for column, kind in columns.items()}

        shelf = SqliteShelf(tmp_path / "-".join(key).replace("/", "_"))
        store = shelf.create(view, "topic", {0: 0}, now_ms=1)
        rows = [row(number) for number in range(1, 5)]
        assert apply(store, poll([put(view, each) for each in rows])) == []
        assert rows_of(store) == rows
        keys = [encode_key(view, {column: each[column] for column in key}) for each in rows]
        absent = encode_key(view, {column: row(9)[column] for column in key})
        found = store.rows([absent, *reversed(keys)])
        assert found == dict(zip(keys, rows, strict=True))
        at = {column: rows[1][column] for column in key}
        assert store.reader.get(at).rows == [rows[1]]
        assert store.reader.scan(None, Page(10, after=at)).rows == rows[2:]
        for text, expected in (("n in [2, 3]", rows[1:3]), ("n in []", []), ("not n in []", rows)):
            assert store.reader.scan(parse_where(view, text), Page(10)).rows == expected
        assert store.reader.scan(parse_where(view, f"row[{name!r}] != None"), Page(9)).rows == rows
        changed = {**rows[1], "n": 7}
        assert apply(store, poll([put(view, changed), gone(view, **at)], start=4)) == []
        assert rows_of(store) == [rows[0], *rows[2:]]
        store.close()
        shelf.close()
