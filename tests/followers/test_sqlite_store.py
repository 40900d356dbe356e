"""What is particular to SQLite: text it cannot keep, readers beside a writer, damage, a full disk."""

import resource
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from followers.polls import apply, poll, put, rows_of
from headwater.errors import (
    Conflict,
    Corruption,
    NotSupported,
    StorageFailed,
    TimedOut,
    Unavailable,
)
from headwater.followers.sqlite.query import DamagedViews, Limits, run_query
from headwater.followers.sqlite.question import understand
from headwater.followers.sqlite.shelf import SqliteShelf
from headwater.followers.sqlite.store import SqliteStore
from headwater.followers.store import Page, Store
from headwater.views import encode_key
from headwater.views.matching import matcher
from headwater.views.where import parse_where
from rigs.changelog import make_view, revenue
from rigs.effort import examples
from rigs.sqlite_damage import damage_root

VIEW = make_view("shop.revenue")


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[SqliteShelf]:
    made = SqliteShelf(tmp_path / "views")
    yield made
    made.close()


@pytest.fixture
def store(shelf: SqliteShelf) -> Iterator[Store]:
    made = shelf.create(VIEW, "topic", {0: 0}, now_ms=1)
    yield made
    made.close()


@pytest.mark.parametrize("name", [rb"a\u0000b", rb"\ud800", rb"\udc00x", rb"\\\u0000"])
def test_text_that_sqlite_would_change_is_rejected_not_changed(store: Store, name: bytes) -> None:
    key = encode_key(VIEW, {"minute": "2026-09-01T10:00Z", "customer": 7})
    bad = (key, key[:-1] + b',"name":"' + name + b'"}')
    rejected = apply(store, poll([put(VIEW, revenue(1)), bad]))
    assert [each.place for each in rejected] == [1]
    assert [each["customer"] for each in rows_of(store)] == [1]


@pytest.mark.parametrize("name", ["\\u0000", "😀", "\\ud83d", "tab\t", "\u2028"])
def test_text_that_only_looks_like_it_is_kept(store: Store, name: str) -> None:
    assert apply(store, poll([put(VIEW, revenue(1, name=name))])) == []
    escaped = encode_key(VIEW, {"minute": "2026-09-01T10:00Z", "customer": 2})
    pair = (escaped, escaped[:-1] + rb',"name":"\ud83d\ude00"}')
    assert apply(store, poll([pair], start=1)) == []
    assert [each["name"] for each in rows_of(store)] == [name, "😀"]


def test_readers_see_the_last_commit_while_the_writer_writes(store: Store) -> None:
    apply(store, poll([put(VIEW, revenue(1, 1.0))]))
    seen: list[Any] = []

    def look(_: object) -> None:
        """Called in the middle of the writer's transaction."""
        seen.append(store.reader.get({"minute": "2026-09-01T10:00:00.000000Z", "customer": 1}))

    from followers.polls import collapse

    found = poll([put(VIEW, revenue(1, 2.0)), (None, b"{}")], start=1)
    store.apply(collapse(VIEW, found), caught_up_ms=None, reject=look)
    assert seen[0].rows[0]["total"] == 1.0
    assert seen[0].as_of == {0: 1}
    assert rows_of(store)[0]["total"] == 2.0


def test_a_search_for_rows_is_given_up_when_its_time_is_over(store: Store) -> None:
    apply(store, poll([put(VIEW, revenue(n, name="x")) for n in range(5000)]))
    nothing = parse_where(VIEW, "'y' in name")
    with pytest.raises(TimedOut, match="longer than 0 s"):
        store.reader.scan(nothing, Page(10, within_s=0.0))
    assert store.reader.scan(nothing, Page(10)).rows == []
    assert len(store.reader.scan(None, Page(10, within_s=60.0)).rows) == 10


def test_a_row_and_its_positions_are_always_of_the_same_moment(store: Store) -> None:
    """The row holds the offset that wrote it: no reader may see another one as next."""
    rounds, stop = 150, threading.Event()
    wrong: list[Any] = []
    key = {"minute": "2026-09-01T10:00:00.000000Z", "customer": 1}
    apply(store, poll([put(VIEW, revenue(1, orders=0))]))

    def read() -> None:
        while not stop.is_set():
            answer = store.reader.get(key)
            if answer.rows[0]["orders"] + 1 != answer.as_of[0]:
                wrong.append(answer)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for each in readers:
        each.start()
    for number in range(1, rounds):
        apply(store, poll([put(VIEW, revenue(1, orders=number))], start=number))
    stop.set()
    for each in readers:
        each.join()
    assert wrong == []


def test_a_store_that_is_removed_waits_for_its_readers_and_refuses_new_ones(
    shelf: SqliteShelf,
) -> None:
    store = shelf.create(VIEW, "topic", {0: 0}, now_ms=1)
    apply(store, poll([put(VIEW, revenue(n)) for n in range(1000)]))
    snapshot = store.reader.snapshot(None)
    rows = iter(snapshot)
    next(rows)
    removing = threading.Thread(target=shelf.remove, args=(store,))
    removing.start()
    assert len(list(rows)) == 999
    assert removing.is_alive()
    snapshot.close()
    removing.join(30)
    assert shelf.names() == []
    with pytest.raises(Unavailable, match="built anew"):
        store.reader.scan(None, Page(1))


def test_a_directory_belongs_to_one_server(shelf: SqliteShelf) -> None:
    with pytest.raises(Conflict, match="another server keeps its views"):
        SqliteShelf(shelf.directory)


@pytest.mark.parametrize("name", ["lock", "views.json"])
def test_a_view_may_have_the_name_of_a_file_of_the_directory(shelf: SqliteShelf, name: str) -> None:
    (shelf.directory / "views.json").write_text("{}")
    store = shelf.create(make_view(name), "topic", {0: 0}, now_ms=1)
    apply(store, poll([put(VIEW, revenue(1))]))
    store.close()
    assert shelf.names() == [name]
    (found,) = shelf.stores(name)
    assert len(rows_of(found)) == 1
    shelf.remove(found)
    assert shelf.names() == []


@pytest.mark.parametrize("damage", [b"not a database, certainly" * 100, b""])
def test_a_damaged_store_is_set_aside_so_that_it_is_built_again(
    shelf: SqliteShelf, damage: bytes
) -> None:
    store = shelf.create(VIEW, "topic", {0: 0}, now_ms=1)
    assert isinstance(store, SqliteStore)
    store.close()
    store.file.write_bytes(damage)
    assert shelf.stores("shop.revenue") == []
    assert shelf.names() == []


def test_damage_met_while_reading_is_called_by_its_name(shelf: SqliteShelf) -> None:
    store = shelf.create(VIEW, "topic", {0: 0}, now_ms=1)
    assert isinstance(store, SqliteStore)
    apply(store, poll([put(VIEW, revenue(n, name="x" * 500)) for n in range(500)]))
    store.close()
    raw = bytearray(store.file.read_bytes())
    raw[8192:] = b"\xa5" * (len(raw) - 8192)
    store.file.write_bytes(raw)
    damaged = SqliteStore(store.file)
    with pytest.raises(Corruption, match="is damaged"):
        damaged.reader.scan(None, Page(1000))
    damaged.close()


def test_damage_that_a_snapshot_meets_first_is_called_by_its_name_and_holds_nothing(
    shelf: SqliteShelf,
) -> None:
    store = shelf.create(VIEW, "topic", {0: 0}, now_ms=1)
    assert isinstance(store, SqliteStore)
    apply(store, poll([put(VIEW, revenue(n, name="x" * 500)) for n in range(500)]))
    store.close()
    damage_root(store.file)
    damaged = SqliteStore(store.file)
    with pytest.raises(Corruption, match="is damaged") as held:
        damaged.reader.snapshot(None)
    ending = threading.Thread(target=damaged.close, daemon=True)
    ending.start()
    ending.join(10)
    assert not ending.is_alive()
    assert held.value.hint  # who still holds the error holds no connection


@pytest.mark.parametrize("names", [["sound", "hurt", "fine"], ["hurt"]])
def test_a_query_blames_the_view_that_is_damaged_and_no_other(
    shelf: SqliteShelf, names: list[str]
) -> None:
    for name in names:
        view = make_view(name)
        store = shelf.create(view, "topic", {0: 0}, now_ms=1)
        apply(store, poll([put(view, revenue(n, name="x" * 500)) for n in range(500)]))
        store.close()
    (file,) = shelf.directory.glob("hurt/*.sqlite")
    damage_root(file)
    stores = [each for name in names for each in shelf.stores(name)]
    readers = {each.view.name: each.reader for each in stores}
    limits = Limits(rows=10, answer_bytes=1_000_000, time_s=30)
    together = " UNION ALL ".join(f"SELECT sum(total) FROM {name}" for name in names)
    asked = understand(together, {each.view.name: each.view for each in stores}, within_s=30)
    with pytest.raises(DamagedViews, match="view 'hurt' is damaged") as raised:
        run_query(asked, [], readers, limits)  # type: ignore[arg-type]
    assert raised.value.views == ["hurt"]
    for each in stores:
        each.close()


FULL = """
import resource, sys
from pathlib import Path
from followers.polls import apply, poll, put, rows_of
from headwater.errors import StorageFailed
from headwater.followers.sqlite.shelf import SqliteShelf
from rigs.changelog import make_view, revenue

view = make_view("shop.revenue")
shelf = SqliteShelf(Path(sys.argv[1]))
store = shelf.create(view, "topic", {0: 0}, now_ms=1)
resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
at, failed = 0, 0
while not failed:
    found = poll([put(view, revenue(at + n, name="x" * 200)) for n in range(100)], start=at)
    try:
        apply(store, found)
        at += 100
    except StorageFailed as error:
        failed, sentence = at, str(error)
assert [each["customer"] for each in rows_of(store)] == list(range(at)), "not what was committed"
assert store.positions() == {0: at}
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
apply(store, found)
assert len(rows_of(store)) == at + 100
print(failed, sentence)
"""


def test_a_full_disk_stops_the_store_where_it_is_and_space_lets_it_go_on(tmp_path: Path) -> None:
    """Files may not grow beyond a limit in this process: to SQLite, that is a full disk."""
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[1] == resource.RLIM_INFINITY
    command = [sys.executable, "-c", FULL, str(tmp_path / "views")]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[1]
    )
    assert done.returncode == 0, done.stderr
    stored, _, sentence = done.stdout.partition(" ")
    assert int(stored) >= 100
    assert "cannot be written" in sentence
    assert "it goes on by itself" in sentence


def test_an_sqlite_that_is_too_old_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 37, 2))
    with pytest.raises(NotSupported, match=r"views need SQLite 3\.38\.0"):
        SqliteShelf(tmp_path)


COLUMNS = {
    "id": "bigint",
    "name": "string",
    "total": "double",
    "price": "decimal(20,2)",
    "cents": "decimal(9,2)",
    "paid": "boolean",
    "at": "timestamp",
}
WIDE = make_view("wide", COLUMNS, key=("id", "name"))
NAMES = st.sampled_from(["", "a", "A", "ab", "b", "é", "%", "_", "ba"])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "id": st.integers(-2, 3),
    "name": NAMES,
    "total": st.sampled_from([-1.5, 0.0, 0.1, 2, "NaN", "Infinity", "-Infinity"]),
    "price": st.sampled_from(["-3", "9", "10.50", "100"]),
    "cents": st.sampled_from(["-3", "9", "10.50", "100"]),
    "paid": st.booleans(),
    "at": st.sampled_from(["2026-09-01T10:00Z", "2026-09-01T10:00:00.000001Z", "1999-01-01"]),
}
OPTIONAL = {name: st.none() | VALUES[name] for name in COLUMNS if name not in ("id", "name")}
WIDE_ROWS = st.fixed_dictionaries({"id": VALUES["id"], "name": NAMES, **OPTIONAL})


def comparisons(name: str) -> st.SearchStrategy[str]:
    signs = ["==", "!="] if name == "paid" else ["==", "!=", "<", "<=", ">", ">="]
    plain = st.builds(
        lambda sign, value: f"{name} {sign} {value!r}", st.sampled_from(signs), VALUES[name]
    )
    lists = st.lists(VALUES[name], max_size=3).map(lambda values: f"{name} in {values!r}")
    return plain | lists | st.sampled_from([f"{name} == None", f"{name} is not None"])


TEXT_TESTS = st.builds(
    lambda test, value: test.format(repr(value)),
    st.sampled_from(["name.startswith({})", "name.endswith({})", "{} in name"]),
    NAMES,
)
FILTERS = st.recursive(
    st.one_of(TEXT_TESTS, st.just("paid"), *(comparisons(name) for name in COLUMNS)),
    lambda inner: (
        st.builds("({} and {})".format, inner, inner)
        | st.builds("({} or {})".format, inner, inner)
        | inner.map("not ({})".format)
    ),
    max_leaves=5,
)


@settings(max_examples=examples(20), deadline=None)
@given(rows=st.lists(WIDE_ROWS, max_size=15), filters=st.lists(FILTERS, min_size=5, max_size=10))
def test_a_filter_picks_the_same_rows_in_sql_and_in_python(
    tmp_path_factory: pytest.TempPathFactory, rows: list[Any], filters: list[str]
) -> None:
    shelf = SqliteShelf(tmp_path_factory.mktemp("filters"))
    store = shelf.create(WIDE, "topic", {0: 0}, now_ms=1)
    assert apply(store, poll([put(WIDE, each) for each in rows])) == []
    kept = rows_of(store)
    for text in filters:
        where = parse_where(WIDE, text)
        matches = matcher(where)
        found = store.reader.scan(where, Page(100)).rows
        assert found == [each for each in kept if matches(each)], text
    store.close()
    shelf.close()


def test_storage_that_cannot_be_used_at_all_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFailed, match="cannot be used"):
        SqliteShelf(tmp_path / "file" / "views")
