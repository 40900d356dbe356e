"""Which views a query reads, by what names, and how long it takes to see that."""

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from followers.polls import apply, poll, put
from headwater.errors import InvalidRequest
from headwater.followers.sqlite.query import Limits, NoSuchTable, Table, run_query
from headwater.followers.sqlite.question import understand
from headwater.followers.sqlite.shelf import SqliteShelf
from headwater.followers.store import Store
from headwater.views import View
from rigs.changelog import make_view

LIMITS = Limits(rows=100, answer_bytes=1_000_000, time_s=30)


class Shop:
    """Views, each with one row whose id tells them apart."""

    def __init__(self, shelf: SqliteShelf) -> None:
        self._shelf = shelf
        self.stores: dict[str, Store] = {}
        self.known: dict[str, View] = {}

    def add(self, name: str, number: int, columns: Mapping[str, str] | None = None) -> None:
        view = make_view(name, columns or {"id": "int", "clicks": "int"}, key=("id",))
        store = self._shelf.create(view, "topic", {0: 0}, now_ms=1)
        row = dict.fromkeys((each.name for each in view.columns), number)
        apply(store, poll([put(view, row)]))
        self.stores[name], self.known[name] = store, view

    def announce(self, name: str) -> None:
        """A view that is not built."""
        self.known[name] = make_view(name, {"id": "int", "n": "int"}, key=("id",))

    def ask(self, text: str, *parameters: Any) -> Table:
        question = understand(text, self.known, within_s=30)
        readers = {name: self.stores[name].reader for name in question.views}
        return run_query(question, parameters, readers, LIMITS)  # type: ignore[arg-type]


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    shelf = SqliteShelf(tmp_path / "views")
    made = Shop(shelf)
    made.add("shop.revenue", 1)
    yield made
    for each in made.stores.values():
        each.close()
    shelf.close()


@pytest.mark.parametrize("name", ["meta", "positions", "rejected", "gone", "rows", "forget"])
def test_a_view_may_have_the_name_of_a_table_of_the_store(shop: Shop, name: str) -> None:
    shop.add(name, 5)
    for called in (name, f'"{name}"', f"[{name}]", f"`{name}`", name.upper(), name.title()):
        for text in (
            f"SELECT id FROM {called}",
            f"SELECT {called}.id FROM {called}",
            f"SELECT 4 + count(*) FROM {called}",
            f"WITH a AS (SELECT * FROM {called}) SELECT a.id FROM a, shop.revenue r WHERE r.id = 1",
        ):
            assert shop.ask(text).rows == [[5]], text
    shop.add(f"web.{name}", 6)
    assert shop.ask(f"SELECT a.id, b.id FROM {name} a, web.{name} b").rows == [[5, 6]]


@pytest.mark.parametrize(
    "table", ["view_0.meta", "VIEW_0.META", "view_0.positions", "view_0.sqlite_master"]
)
@pytest.mark.parametrize("what", ["*", "count(*)"])
def test_tables_of_the_store_stay_hidden(shop: Shop, table: str, what: str) -> None:
    shop.add("meta", 5)
    with pytest.raises(InvalidRequest, match="may only SELECT from views"):
        shop.ask(f"SELECT {what} FROM shop.revenue, meta, {table}")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT id, clicks FROM shop.revenue",
        "SELECT r.clicks FROM revenue r -- not from clicks",
        "SELECT 'clicks', clicks AS x FROM revenue ORDER BY clicks",
        "WITH clicks AS (SELECT 1 AS id) SELECT id FROM clicks JOIN revenue USING (id)",
        "SELECT clicks.id FROM revenue AS clicks",
        "SELECT revenue.clicks, revenue.id FROM revenue",
        "EXPLAIN QUERY PLAN SELECT clicks FROM shop.revenue",
    ],
)
def test_a_view_that_is_only_called_like_something_else_is_not_read(shop: Shop, text: str) -> None:
    shop.announce("shop.clicks")
    shop.announce("revenue.id")
    assert list(shop.ask(text).as_of) == ["shop.revenue"]


def test_a_column_of_a_table_is_not_taken_for_a_view_with_a_dot_in_its_name(shop: Shop) -> None:
    """SQLite would take its name in quotes for a text."""
    shop.announce("revenue.id")
    assert shop.ask("SELECT revenue.id FROM revenue").rows == [[1]]


@pytest.mark.parametrize(
    ("text", "views"),
    [
        ("SELECT 1 FROM clicks", ["shop.clicks"]),
        ("SELECT (SELECT 1 FROM clicks) FROM revenue", ["shop.revenue", "shop.clicks"]),
        ("SELECT CASE WHEN 0 THEN (SELECT 1 FROM clicks) END", ["shop.clicks"]),
        ("/* the */ EXPLAIN SELECT 1 FROM clicks", ["shop.clicks"]),
        ("SELECT 1 WHERE 1 IN clicks", ["shop.clicks"]),
        (
            "SELECT * FROM revenue UNION SELECT * FROM shop . clicks",
            ["shop.revenue", "shop.clicks"],
        ),
        ("SELECT * FROM a.b.c JOIN a.b USING (id)", ["a.b.c", "a.b"]),
        ("SELECT a.b.id FROM a.b", ["a.b"]),
        ("SELECT 1", []),
        ("SELECT ? FROM clicks", ["shop.clicks"]),
        ("PRAGMA hard_heap_limit = 1", []),
        ("SELECT 1; SELECT 2 FROM clicks", []),
        ("SELECT 1\0 FROM clicks", []),
        ("SELECT '\ud800' FROM clicks", []),
    ],
)
def test_every_table_of_a_query_is_found(shop: Shop, text: str, views: list[str]) -> None:
    for name in ("shop.clicks", "a.b", "a.b.c"):
        shop.announce(name)
    assert sorted(understand(text, shop.known, within_s=30).views) == sorted(views)


def test_views_that_are_not_read_do_not_count_towards_the_limit(shop: Shop) -> None:
    columns = [f"c{number}" for number in range(12)]
    for name in columns:
        shop.announce(f"web.{name}")
    shop.add("wide", 3, {"id": "int", **dict.fromkeys(columns, "int")})
    assert list(shop.ask(f"SELECT {', '.join(columns)} FROM wide").as_of) == ["wide"]
    ten = ", ".join(f"web.{name}" for name in columns[:10])
    assert len(understand(f"SELECT 1 FROM {ten}, {ten}", shop.known, within_s=30).views) == 10
    with pytest.raises(InvalidRequest, match="a query can read 10 views"):
        understand(f"SELECT 1 FROM {ten}, {columns[10]}", shop.known, within_s=30)


@pytest.mark.parametrize(
    "called",
    ["REVENUE", "Shop.Revenue", "SHOP.REVENUE", '"Shop.revenue"', "[Revenue]", "shop . REVENUE"],
)
def test_names_in_sql_know_no_case(shop: Shop, called: str) -> None:
    assert shop.ask(f"SELECT id FROM {called}").rows == [[1]]
    assert shop.ask(f"SELECT sum({called}.ID) FROM {called} GROUP BY {called}.id").rows == [[1]]


def test_what_is_spelt_exactly_so_wins(shop: Shop) -> None:
    shop.add("web.Revenue", 2)
    shop.add("Orders", 3)
    shop.add("orders", 4)
    assert shop.ask("SELECT id FROM revenue").rows == [[1]]
    assert shop.ask("SELECT id FROM Revenue").rows == [[2]]
    assert shop.ask("SELECT id FROM web.revenue").rows == [[2]]
    assert shop.ask("SELECT id FROM Orders").rows == [[3]]
    assert shop.ask("SELECT id FROM orders").rows == [[4]]
    for unclear in ("REVENUE", "ORDERS"):
        with pytest.raises(NoSuchTable, match=f"no such table: {unclear}"):
            shop.ask(f"SELECT id FROM {unclear}")


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM orders, Orders",
        'SELECT * FROM "Orders" JOIN [orders] USING (id)',
        "SELECT * FROM a.orders, A.Orders",
        "SELECT * FROM (SELECT * FROM A.Orders) JOIN a.orders USING (id)",
    ],
)
def test_one_view_is_never_taken_for_another_that_differs_in_case(shop: Shop, text: str) -> None:
    for number, name in enumerate(("Orders", "orders", "a.orders", "A.Orders"), 2):
        shop.add(name, number)
    with pytest.raises(InvalidRequest, match="is more than one view to SQL"):
        shop.ask(text)


def test_a_view_cannot_pass_for_a_table_of_sqlite(shop: Shop) -> None:
    shop.add("shop.sqlite_master", 8)
    assert shop.ask("SELECT id FROM shop.sqlite_master").rows == [[8]]
    with pytest.raises(InvalidRequest):
        shop.ask("SELECT * FROM sqlite_master")


@pytest.mark.parametrize(
    "piece",
    [
        "a.",
        "a .",
        "[",
        "[a",
        '"',
        '""',
        '"a',
        "'",
        "''",
        "`",
        "/*",
        "--",
        "- ",
        "a ",
        " ",
        ". ",
        "\n",
    ],
)
def test_a_text_takes_time_in_proportion_to_its_length(shop: Shop, piece: str) -> None:
    """The dots of one name, or brackets without an end, took time by the square of it."""
    shop.add("a.a.a.a", 1)

    def seconds(length: int) -> float:
        text = f"SELECT {piece * (length // len(piece))}a"
        started_s = time.process_time()
        with suppress(InvalidRequest):  # some name no column
            understand(text, shop.known, within_s=30)
        return time.process_time() - started_s

    short_s, long_s = min(seconds(5_000) for _ in range(3)), min(seconds(50_000) for _ in range(2))
    assert long_s < 0.1 + 20 * short_s


@pytest.mark.parametrize(
    "text",
    [
        'SELECT "click" FROM revenue',
        'SELECT id FROM revenue WHERE "click" = 1',
        'SELECT id FROM revenue ORDER BY "click"',
        'EXPLAIN SELECT max("click") FROM revenue',
        'SELECT "a ` b" FROM revenue',
    ],
)
def test_a_mistyped_name_in_quotes_is_not_taken_for_a_string(shop: Shop, text: str) -> None:
    with pytest.raises(InvalidRequest, match=r"there is no column '(click|a ` b)'") as refused:
        shop.ask(text)
    assert refused.value.hint == "text stands in single quotes"


@pytest.mark.parametrize(
    "text",
    [
        'SELECT "clicks" FROM "revenue"',
        'SELECT clicks AS "all of them" FROM revenue ORDER BY "all of them"',
        'SELECT r."clicks" FROM "shop.revenue" AS r WHERE "CLICKS" = 1',
        "SELECT clicks FROM revenue WHERE 'click' = '\"click\"' OR id = 1",
        'WITH "a b" AS (SELECT clicks AS "c d" FROM revenue) SELECT "c d" FROM "a b"',
    ],
)
def test_names_in_quotes_that_there_are_mean_what_they_say(shop: Shop, text: str) -> None:
    assert shop.ask(text).rows == [[1]]
