"""The tables of one store and the statements over them, made once per view.

A statement that writes takes all its rows as one JSON array: SQLite parses and stores them in a single
step, without Python in between and without holding up other threads.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headwater.followers.sqlite.columns import SqlColumn
from headwater.followers.store import Row
from headwater.views import View

TABLES = (
    "CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE positions (partition INTEGER PRIMARY KEY, next_offset INTEGER NOT NULL)",
    """CREATE TABLE rejected (
        partition INTEGER, offset INTEGER, reason TEXT NOT NULL, PRIMARY KEY (partition, offset)
    ) WITHOUT ROWID""",
)


class Schema:
    def __init__(self, view: View) -> None:
        self.view = view
        self.columns = tuple(SqlColumn(each, each.name in view.key) for each in view.columns)
        self.by_name = {each.column.name: each for each in self.columns}
        self.key = tuple(self.by_name[name] for name in view.key)
        self.names = ", ".join(each.name for each in self.columns)
        self.key_names = ", ".join(each.name for each in self.key)
        self._readers = [
            (at, each.read) for at, each in enumerate(self.columns) if each.read is not None
        ]

    def tables(self) -> Sequence[str]:
        declarations = ", ".join(each.declaration for each in self.columns)
        indexes = (
            f"CREATE INDEX index_{number} ON rows ({', '.join(self.by_name[name].name for name in names)})"
            for number, names in enumerate(self.view.indexes)
        )
        own_names = ", ".join(f"k{at}" for at in range(len(self.key)))
        return (
            *TABLES,
            f"CREATE TABLE rows ({declarations}, PRIMARY KEY ({self.key_names})) WITHOUT ROWID",
            *indexes,
            # What is put into `gone` is taken out of `rows`, each by its whole key.
            f"CREATE VIEW gone ({own_names}) AS SELECT {self.key_names} FROM rows",
            f"""CREATE TRIGGER forget INSTEAD OF INSERT ON gone BEGIN
                DELETE FROM rows WHERE {self._key_is("NEW")};
            END""",
        )

    def upsert(self, *, has_not_finite: bool) -> str:
        taken = ", ".join(each.taken(has_not_finite=has_not_finite) for each in self.columns)
        changed = ", ".join(
            f"{each.name} = excluded.{each.name}" for each in self.columns if not each.is_key
        )
        then = f"UPDATE SET {changed}" if changed else f"UPDATE SET {self._itself}"
        return (
            f"INSERT INTO rows ({self.names}) SELECT {taken} FROM json_each(?) AS given WHERE true "
            f"ON CONFLICT ({self.key_names}) DO {then}"
        )

    @property
    def _itself(self) -> str:
        """Change nothing and still be counted: a view may be nothing but its key."""
        return f"{self.key[0].name} = excluded.{self.key[0].name}"

    @property
    def delete(self) -> str:
        return f"INSERT INTO gone SELECT {self._taken_key} FROM json_each(?) AS given"

    @property
    def select_keys(self) -> str:
        """The rows of an array of keys, each with the place of its key."""
        taken = (f"{each.taken(has_not_finite=True)} AS k{at}" for at, each in enumerate(self.key))
        wanted = f"SELECT given.key AS place, {', '.join(taken)} FROM json_each(?) AS given"
        names = ", ".join(f"rows.{each.name}" for each in self.columns)
        return (
            f"SELECT wanted.place, {names} FROM ({wanted}) AS wanted "
            f"CROSS JOIN rows ON {self._key_is('wanted')}"
        )

    @property
    def _taken_key(self) -> str:
        return ", ".join(each.taken(has_not_finite=True) for each in self.key)

    def _key_is(self, other: str) -> str:
        """Of something whose columns are k0, k1...: those of a view may have any name."""
        return " AND ".join(f"rows.{each.name} = {other}.k{at}" for at, each in enumerate(self.key))

    @property
    def get(self) -> str:
        matches = " AND ".join(f"{each.name} = ?" for each in self.key)
        return f"SELECT {self.names} FROM rows WHERE {matches}"

    def bind_key(self, key: Mapping[str, Any]) -> list[Any]:
        return [each.bind(key[each.column.name]) for each in self.key]

    def row_reader(self) -> Callable[[Sequence[Any]], Row]:
        """From a line of SQLite's answer to a row."""
        names, readers = [each.column.name for each in self.columns], self._readers

        def read(line: Sequence[Any]) -> Row:
            row = dict(zip(names, line, strict=True))
            for at, convert in readers:
                row[names[at]] = convert(line[at])
            return row

        return read
