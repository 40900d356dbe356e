"""SQL over views: right answers, one snapshot, and limits that hold."""

import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

import pytest

from headwater.client import Client
from headwater.followers.followers import Followers
from rigs.changelog import Changelog, new_name
from serve.conftest import Changelogs, Http


def test_views_are_called_by_full_and_by_short_name(http_client: Http, shop: Changelog) -> None:
    name = shop.view.name
    for given in ("revenue", f'"{name}"', name if "-" not in name else f'"{name}"'):
        status, answer = http_client.query(f"SELECT count(*) AS n, sum(total) AS t FROM {given}")
        assert (status, answer["columns"], answer["rows"]) == (200, ["n", "t"], [[10, 45.0]])
        assert sum(answer["as_of"][name].values()) == 10


def test_a_dotted_name_needs_no_quotes(http_client: Http, new_changelog: Changelogs) -> None:
    new_changelog(name="webshop.sales")
    text = "SELECT count(webshop.sales.total) FROM webshop.sales -- not 'webshop.sales'"
    assert http_client.query(text)[1]["rows"] == [[0]]


def test_parameters_joins_and_json(http_client: Http, shop: Changelog) -> None:
    _, answer = http_client.query(
        "SELECT a.customer FROM revenue a JOIN revenue b ON a.customer = b.customer + ? "
        "WHERE b.paid AND a.total > ? ORDER BY 1",
        1,
        4.5,
    )
    assert answer["rows"] == [[5], [7], [9]]
    assert http_client.query("SELECT value FROM json_each(?)", "[1,2]")[1]["rows"] == [[1], [2]]
    assert shop.view.name


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM revenue",
        "INSERT INTO revenue VALUES (1)",
        "UPDATE revenue SET total = 0",
        "DROP TABLE revenue",
        "CREATE TABLE x (a)",
        "CREATE TEMP TABLE x AS SELECT * FROM revenue",
        "ATTACH '/etc/passwd' AS x",
        "PRAGMA journal_mode = DELETE",
        "PRAGMA table_info(rows)",
        "VACUUM INTO '/tmp/stolen.db'",
        "BEGIN",
        "SELECT * FROM sqlite_master",
        "SELECT * FROM view_0.meta",
        "SELECT * FROM view_0.positions",
        "SELECT load_extension('x')",
        "SELECT 1; SELECT 2",
        "SELECT * FROM nowhere",
        "SELECT ?",
        "",
        ";",
        "-- nothing",
        "EXPLAIN SELECT 1; DROP TABLE revenue",
        "SELECT zeroblob(1000000000)",
        "SELECT (" * 500 + "1" + ")" * 500,
        "SELECT " + "1 UNION SELECT " * 100 + "1",
    ],
)
def test_only_a_select_over_views_is_allowed(http_client: Http, shop: Changelog, sql: str) -> None:
    status, answer = http_client.query(sql)
    assert (status, answer["error"]["kind"]) == (400, "InvalidRequest"), answer
    assert http_client.query("SELECT count(*) FROM revenue")[1]["rows"] == [[10]], shop.view.name


@pytest.mark.parametrize(
    "sql",
    [
        "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT count(*) FROM t",
        f"SELECT count(*) FROM {', '.join(f'revenue r{n}' for n in range(9))}",
        """WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t)
        SELECT group_concat(hex(randomblob(100000))) FROM t""",
    ],
)
def test_a_query_that_takes_too_long_is_stopped(
    http_client: Http, shop: Changelog, sql: str
) -> None:
    status, answer = http_client.query(sql)
    assert status in (400, 504), shop.view.name
    assert answer["error"]["what"].startswith(("the query took longer than 1 s", "a value"))


def test_a_query_cannot_take_the_servers_memory(http_client: Http, shop: Changelog) -> None:
    """The server runs in this process: its memory is ours."""
    before_mb = own_memory_mb()
    endless = "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) "
    for sql in (
        f"{endless} SELECT x, hex(randomblob(1000)) AS r FROM t ORDER BY r",
        f"{endless} SELECT count(*) FROM (SELECT DISTINCT hex(randomblob(1000)) FROM t)",
        f"{endless} SELECT json_group_array(hex(randomblob(1000))) FROM t",
        f"{endless} SELECT replace(hex(zeroblob(400000)), '0', hex(zeroblob(400000))) FROM t",
    ):
        with ThreadPoolExecutor(1) as aside:
            asking = aside.submit(http_client.query, sql)
            peak_mb = before_mb
            while not wait([asking], timeout=0.01).done:
                peak_mb = max(peak_mb, own_memory_mb())
        assert asking.result()[0] in (400, 504), shop.view.name
        assert peak_mb - before_mb < 150


def own_memory_mb() -> float:
    """Without pages of files: what a query sorts is in temporary ones, which SQLite maps."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("RssAnon:")[2].split()[0]) / 1024


def test_trimming_takes_no_longer_than_a_query_may(http_client: Http, shop: Changelog) -> None:
    """Nothing stops a function once it runs: SQLite's own would be at it for minutes."""
    zeros, others = "hex(zeroblob(500000))", "printf('%.80000c', 'a')"
    _, answer = http_client.query(f"SELECT trim({zeros} || 'x', {others} || '0')")
    assert answer["rows"] == [["x"]], shop.view.name
    many = "WITH RECURSIVE t(n) AS (SELECT 1000 UNION ALL SELECT n + 1 FROM t WHERE n < 3000) "
    status, answer = http_client.query(f"{many} SELECT trim('x', group_concat(char(n), '')) FROM t")
    assert (status, "at most 1000 different" in answer["error"]["what"]) == (400, True)


def test_functions_over_large_values_end_with_the_time_of_their_query(
    http_client: Http, shop: Changelog
) -> None:
    many = "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t LIMIT 200) "
    slow = "'%' || hex(zeroblob(70)) || n || '%'"
    started_s = time.monotonic()
    status, answer = http_client.query(
        f"{many} SELECT sum(a LIKE {slow}) FROM t, (SELECT hex(zeroblob(500000)) AS a)"
    )
    assert (status, answer["error"]["kind"]) == (504, "TimedOut"), shop.view.name
    assert time.monotonic() - started_s < 5


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT instr({long}, {half} || 'b')",
        "SELECT length(REPLACE({long}, {half} || 'b', 'c'))",
        'SELECT length("json_patch"({object}, {object}))',
    ],
)
def test_functions_that_are_slow_with_large_values_do_not_get_them(
    http_client: Http, shop: Changelog, sql: str
) -> None:
    asked = sql.format(
        long="hex(zeroblob(500000))",
        half="hex(zeroblob(250000))",
        object="'{' || (WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t LIMIT 80000) "
        "SELECT group_concat('\"k' || n || '\":1') FROM t) || '}'",
    )
    status, answer = http_client.query(asked)
    assert (status, answer["error"]["what"]) == (
        400,
        "a value of the query would be larger than 131072 bytes",
    )
    assert "may have 1048576" in answer["error"]["hint"], shop.view.name
    small = asked.replace("0000)", ")").replace("80000", "8")
    assert http_client.query(small)[0] == 200


def test_every_column_of_an_answer_has_a_name_of_its_own(client: Client, shop: Changelog) -> None:
    table = client.views.query("SELECT 1 AS a, 2 AS a, 3 AS 'a:1', 4 AS a")
    assert table.columns == ("a", "a:1", "a:1:1", "a:2")
    assert [*table] == [{"a": 1, "a:1": 2, "a:1:1": 3, "a:2": 4}], shop.view.name


def test_answers_are_limited_and_say_so(http_client: Http, shop: Changelog) -> None:
    endless = "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) "
    _, answer = http_client.query(f"{endless} SELECT x FROM t")
    assert (len(answer["rows"]), answer["is_truncated"]) == (500, True)
    _, answer = http_client.query("SELECT customer FROM revenue ORDER BY 1", limit=3)
    assert (answer["rows"], answer["is_truncated"]) == ([[0], [1], [2]], True)
    _, answer = http_client.query("SELECT customer FROM revenue LIMIT 3")
    assert answer["is_truncated"] is False
    _, answer = http_client.query(f"{endless} SELECT hex(zeroblob(500000)) FROM t")
    assert (len(answer["rows"]) < 20, answer["is_truncated"]) == (True, True), shop.view.name


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (b"", "field required"),
        (b'{"sql": ', "the body is not JSON: expecting value"),
        (b"[]", "the body is not a JSON object"),
        (b'{"sql": 7}', "sql: input should be a valid string"),
        (b'{"sql": "SELECT 1", "more": 1}', "more: extra inputs are not permitted"),
        (b'{"sql": "SELECT 1", "parameters": [[1]]}', "parameters"),
        (b'{"sql": "SELECT 1", "limit": 0}', "limit: input should be greater than"),
        (b'{"sql": "SELECT ?", "parameters": [123456789012345678901234567890]}', "too large"),
    ],
)
def test_a_body_that_is_wrong_is_one_sentence(
    http_client: Http, body: bytes, sentence: str
) -> None:
    status, answer = http_client.ask(
        "POST", "/v1/query", body, {"Content-Type": "application/json"}
    )
    assert status == 400
    assert sentence in answer["error"]["what"]


def test_the_client_gets_tables(client: Client, shop: Changelog) -> None:
    view = client.view(shop.view.name)
    table = view.query("SELECT customer, total FROM revenue WHERE customer >= ? ORDER BY 1", 8)
    rows: list[dict[str, Any]] = list(table)
    assert rows == [{"customer": 8, "total": 8.0}, {"customer": 9, "total": 9.0}]
    assert (len(table), table.is_truncated) == (2, False)
    assert sum(table.as_of[shop.view.name].values()) == 10


@pytest.mark.usefixtures("shop")  # Served, so the definitions have been read.
def test_a_view_that_is_not_known_yet_is_a_reason_to_ask_again(
    http_client: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    status, answer = http_client.query("SELECT 1 FROM coming.soon")
    assert (status, answer["error"]["kind"]) == (400, "InvalidRequest")
    reason = property(lambda _: "the definitions are being read", lambda *_: None)
    monkeypatch.setattr(Followers, "reason", reason, raising=False)
    status, answer = http_client.query("SELECT 1 FROM coming.soon")
    assert (status, answer["error"]["retriable"]) == (503, True)
    assert "not known yet: the definitions are being read" in answer["error"]["what"]


def test_a_row_of_many_large_values_is_refused_before_it_is_in_memory(
    http_client: Http, shop: Changelog
) -> None:
    large = ", ".join(["randomblob(1000000)"] * 500)
    status, answer = http_client.query(f"SELECT {large}")
    assert (status, answer["error"]["what"]) == (
        400,
        "a SELECT of this query has more than 50 columns",
    )
    status, answer = http_client.query("SELECT " + ", ".join(["zeroblob(1000000)"] * 20))
    assert (status, answer["error"]["kind"]) == (400, "InvalidRequest")
    assert "a row of the answer is larger than" in answer["error"]["what"]
    status, answer = http_client.query("SELECT a.*, b.* FROM revenue a, revenue b LIMIT 1")
    assert (status, len(answer["columns"])) == (200, 2 * len(shop.view.columns))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM {0} a JOIN {0} b USING (id) JOIN {0} c USING (id)",
        "SELECT count(*) FROM (SELECT * FROM {0} a, {0} b, {0} c)",
    ],
)
def test_too_many_columns_are_refused_with_how_many_there_may_be(
    http_client: Http, new_changelog: Changelogs, sql: str
) -> None:
    columns = {"id": "int"} | {f"c{number}": "int" for number in range(60)}
    changelog = new_changelog(name=new_name("wide").replace("-", "_"), columns=columns, key=("id",))
    name = changelog.view.name
    status, answer = http_client.query(sql.format(name))
    assert (status, answer["error"]["kind"]) == (400, "InvalidRequest")
    assert answer["error"]["what"] == "a SELECT of this query has more than 122 columns"
    assert "name those that you need" in answer["error"]["hint"]
    counted = f"SELECT count(*) FROM {name} a, {name} b, {name} c"
    assert http_client.query(counted)[1]["rows"] == [[0]]
