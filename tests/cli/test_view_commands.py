"""`headwater view`: what the commands print, in all three forms, and how they end."""

import json
import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

import headwater
from cli.conftest import Result
from cli.test_json_contract import SCHEMAS, strict
from headwater.cli.main import run
from headwater.client import Client
from headwater.errors import NotFound, Unavailable
from headwater.testing import ViewServer
from headwater.views import Column, parse_type
from rigs.changelog import Changelog, make_view, new_name, revenue

View = Callable[..., Result]


@pytest.fixture(scope="module")
def server(bootstrap: str) -> Iterator[ViewServer]:
    with ViewServer(bootstrap) as running:
        yield running


@pytest.fixture(scope="module")
def changelog(bootstrap: str, server: ViewServer) -> Iterator[Changelog]:
    with headwater.connect(bootstrap, views=server.url) as client:
        view = make_view(f"{new_name()}.revenue", comment="Revenue per minute")
        client.admin.topics.create(view.topic, partitions=1, replicas=1)
        client.admin.views.define(view)
        changelog = Changelog(client, view)
        for number in range(3):
            receipt = changelog.put(revenue(number, number + 0.5, paid=True))
        while view.name not in [each.name for each in client.views.list() if each.as_of]:
            pass
        client.view(view.name).get(minute="2026-09-01T10:00Z", customer=2, wait_for=receipt)
        yield changelog
        client.admin.views.drop(view.name)


@pytest.fixture
def view(server: ViewServer, changelog: Changelog, capfd: pytest.CaptureFixture[str]) -> View:
    """Run a command; NAME stands for the view."""

    def call(*arguments: str) -> Result:
        capfd.readouterr()
        given = [each.replace("NAME", changelog.view.name) for each in arguments]
        code = run(["view", *given, "--url", server.url])
        return Result(code, *capfd.readouterr())

    return call


def test_views_are_listed(view: View, changelog: Changelog) -> None:
    result = view("list")
    assert (result.code, result.err) == (0, "")
    assert [changelog.view.name, "following", "0", "0.0", "0", "Revenue per minute"] in result.rows


def test_a_view_is_described(view: View) -> None:
    result = view("describe", "NAME")
    assert result.rows[0] == ["minute", "timestamp", "yes", "yes"]
    assert result.rows[3] == ["total", "double", "yes", "no"]


def test_how_a_view_is_doing_is_told_in_a_pipe_too(view: View) -> None:
    facts = {row[0]: row[1] for row in view("describe", "NAME").rows[7:]}
    expected = {"what": "is", "state": "following", "reason": "-", "rows": "3"}
    assert facts == {**expected, "lag_records": "0", "lag_seconds": "0.0", "rejected": "0"}


@pytest.mark.parametrize("name", ["", "a/b", "..", "%2F", " "])
def test_what_can_be_no_name_is_no_view(view: View, name: str) -> None:
    for command in (["describe", name], ["get", name, "1"], ["watch", name], ["pause", name]):
        result = view(*command)
        assert (result.code, result.out) == (3, "")
        assert result.err.startswith(f"error: there is no view {name!r}")


def test_a_row_is_shown_by_its_key(view: View) -> None:
    assert ["total", "1.5"] in view("get", "NAME", "2026-09-01T10:00Z", "1").rows
    assert view("get", "NAME", "2026-09-01T10:00Z", "0_1").code == 2
    missing = view("get", "NAME", "2026-09-01T10:00Z", "99")
    assert (missing.code, missing.out) == (3, "")
    assert missing.err.startswith("error: view ")
    short = view("get", "NAME", "2026-09-01T10:00Z")
    assert (short.code, "hint: give values for minute, customer" in short.err) == (2, True)


def test_a_query_prints_its_columns(view: View) -> None:
    result = view(
        "query", 'SELECT customer AS c, total FROM "NAME" WHERE customer > ? ORDER BY 1', "0"
    )
    assert result.out.splitlines() == ["c\ttotal", "1\t1.5", "2\t2.5"]
    limited = view("query", 'SELECT 1 FROM "NAME"', "-n", "2")
    assert limited.err == "only the first 2 rows: there are more\n"
    wrong = view("query", "DELETE FROM revenue")
    assert (wrong.code, wrong.err.startswith("error: ")) == (2, True)


def test_numbers_have_all_their_digits_and_text_does_nothing_to_the_terminal(
    view: View, changelog: Changelog
) -> None:
    receipt = changelog.put(revenue(50, 0.0475, name="\x1b[31mred\x9b\tä\N{ZERO WIDTH JOINER}"))
    place = f"{receipt.topic}/0/{receipt.offset}"
    name = "\\x1b[31mred\\x9b\\tä\N{ZERO WIDTH JOINER}"
    rows = view("get", "NAME", "2026-09-01T10:00Z", "50", "--wait-for", place).rows
    assert ["total", "0.0475"] in rows
    assert ["name", name] in rows
    sql = 'SELECT total, 1.5e-7, 1.0, name FROM "NAME" WHERE customer = 50'
    assert view("query", sql).rows == [["0.0475", "1.5e-07", "1.0", name]]
    _take_back(changelog, 50)


def test_a_receipt_is_waited_for(view: View, changelog: Changelog) -> None:
    receipt = changelog.put(revenue(7, 7.5))
    printed = json.dumps({"topic": receipt.topic, "partition": 0, "offset": receipt.offset})
    for given in (printed, f"{receipt.topic}/0/{receipt.offset}"):
        result = view("get", "NAME", "2026-09-01T10:00Z", "7", "--wait-for", given)
        assert ["total", "7.5"] in result.rows
    later = f"{receipt.topic}/0/{receipt.offset + 50}"
    result = view("query", 'SELECT 1 FROM "NAME"', "--wait-for", later, "--timeout", "0.1")
    assert (result.code, "has not reached" in result.err) == (4, True)
    assert view("query", "SELECT 1", "--wait-for", "soon").code == 2
    _take_back(changelog, 7)


def test_rows_and_changes_are_watched(view: View) -> None:
    result = view("watch", "NAME", "--where", "customer < 2", "-n", "2")
    assert [row[:3] for row in result.rows] == [
        ["snapshot", "2026-09-01T10:00:00.000000Z", "0"],
        ["snapshot", "2026-09-01T10:00:00.000000Z", "1"],
    ]
    assert view("watch", "NAME", "--where", "price > 1").code == 2
    assert view("watch", "nowhere").code == 3


def test_watching_goes_on_until_ctrl_c(
    server: ViewServer,
    changelog: Changelog,
    headwater_process: Callable[..., subprocess.Popen[bytes]],
) -> None:
    name = changelog.view.name
    with headwater_process(
        "view", "watch", name, "--no-snapshot", "--json", "--url", server.url
    ) as process:
        assert process.stdout is not None
        changes = 0
        while not changes:
            changelog.put(revenue(8, 1.0))
            changes += process.poll() is None and bool(_ready(process))
        document = json.loads(process.stdout.readline())
        assert (document["kind"], document["row"]["customer"]) == ("upsert", 8)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
        assert process.stderr is not None
        assert process.stderr.read() == b""
    _take_back(changelog, 8)


def _take_back(changelog: Changelog, customer: int) -> None:
    """Others look at the same view."""
    changelog.delete(minute="2026-09-01T10:00Z", customer=customer)
    changelog.wait_until_served()


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_watching_goes_on_with_the_columns_of_a_new_version(
    form: list[str],
    server: ViewServer,
    changelog: Changelog,
    headwater_process: Callable[..., subprocess.Popen[bytes]],
) -> None:
    client = changelog.client
    old = make_view(new_name(), {"id": "int", "n": "int"}, key=("id",))
    new = replace(old, version=2, columns=(*old.columns, Column("vip", parse_type("boolean"))))
    client.admin.topics.create(old.topic, partitions=1, replicas=1)
    client.admin.views.define(old)
    Changelog(client, old).put({"id": 1, "n": 2})
    while client.views.list() and not _rows_of(client, old.name):
        pass
    with headwater_process(
        "view", "watch", old.name, "-n", "3", *form, "--url", server.url
    ) as process:
        assert process.stdout is not None
        found = [process.stdout.readline() for _ in range(1 if form else 2)]
        client.admin.views.define(new)
        found += process.stdout.readlines()
        assert process.wait(20) == 0
    client.admin.views.drop(old.name)
    if form:
        assert [json.loads(line)["row"] for line in found] == [
            {"id": 1, "n": 2},
            None,
            {"id": 1, "n": 2, "vip": None},
        ]
    else:
        assert found == [
            b"kind\tid\tn\n",
            b"snapshot\t1\t2\n",
            b"kind\tid\tn\tvip\n",
            b"snapshot\t1\t2\t-\n",
        ]


def _rows_of(client: Client, name: str) -> list[object]:
    try:
        return list(client.view(name).rows())
    except (NotFound, Unavailable):
        return []


def _ready(process: subprocess.Popen[bytes]) -> bool:
    import select

    return bool(select.select([process.stdout], [], [], 0.1)[0])


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("list", []),
        ("describe", ["NAME"]),
        ("get", ["NAME", "2026-09-01T10:00Z", "1"]),
        ("query", ['SELECT customer, total, NULL AS n FROM "NAME"']),
        ("watch", ["NAME", "-n", "3"]),
    ],
)
def test_json_is_what_the_page_says(view: View, command: str, arguments: list[str]) -> None:
    result = view(command, *arguments, "--json")
    assert result.code == 0, result.err
    assert result.documents
    for document in result.documents:
        jsonschema.validate(document, strict(SCHEMAS[f"headwater view {command}"]))


def test_what_is_done_to_a_view_is_what_the_page_says(view: View, changelog: Changelog) -> None:
    for action in ("pause", "resume", "rebuild"):
        (document,) = view(action, "NAME", "--json").documents
        jsonschema.validate(document, strict(SCHEMAS[f"headwater view {action}"]))
    assert view("resume", "NAME").out == f"view {changelog.view.name} goes on\n"
    assert view("pause", "nowhere").code == 3


def test_a_server_that_is_not_there_is_one_sentence(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
        assert run(["view", "list", "--url", url]) == 4
    assert capfd.readouterr().err.startswith(f"error: cannot reach a server of views at {url}: ")
    assert run(["view", "list", "--url", "ftp://x"]) == 2


def test_serve_prints_its_address_and_is_found_in_its_folder(
    bootstrap: str, tmp_path: Path, headwater_process: Callable[..., subprocess.Popen[bytes]]
) -> None:
    with headwater_process(
        "view", "serve", "--http", "127.0.0.1:0", "--json", cwd=tmp_path
    ) as process:
        assert process.stdout is not None
        document = json.loads(process.stdout.readline())
        jsonschema.validate(document, strict(SCHEMAS["headwater view serve"]))
        found = json.loads((tmp_path / ".headwater/views/views.json").read_text())
        assert found == {"http": document["http"], "pid": process.pid}
        listed = subprocess.run(
            [*process.args[:3], "view", "list"],  # type: ignore[index]
            cwd=tmp_path,
            env={**os.environ, "HEADWATER_BOOTSTRAP": bootstrap},
            capture_output=True,
            check=True,
        )
        assert listed.stdout.startswith(b"name\tstate")
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
    assert not (tmp_path / ".headwater/views/views.json").exists()


def test_serve_refuses_to_be_open_to_all(
    capfd: pytest.CaptureFixture[str], bootstrap: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(["view", "serve", "--http", "0.0.0.0:0", "--bootstrap", bootstrap]) == 2
    assert "no token is set" in capfd.readouterr().err
    monkeypatch.setenv("HEADWATER_VIEWS_TOKEN", "secret")
    assert run(["view", "serve", "--print-config"]) == 0
    printed = capfd.readouterr().out
    assert "token\t(not shown)\tHEADWATER_VIEWS_TOKEN" in printed
    assert "secret" not in printed


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("7", 7),
        ("1.50", 1.5),
        ("1e3", 1000.0),
        ("01234", "01234"),
        ("1_0", "1_0"),
        ("nan", "nan"),
        ("+1", "+1"),
        ("99999999999999999999", "99999999999999999999"),
        ("1e20", 1e20),
        ("1e999", "1e999"),
        pytest.param("9" * 5000, "9" * 5000, id="more digits than Python counts"),
        ("", ""),
    ],
)
def test_a_parameter_is_a_number_only_if_json_would_say_so(
    view: View, given: str, taken: object
) -> None:
    result = view("query", "SELECT ? AS p", given, "--json")
    assert json.loads(result.out) == {"p": taken}


def test_a_key_may_be_called_like_an_argument(
    bootstrap: str, server: ViewServer, view: View
) -> None:
    odd = make_view(new_name(), {"self": "string", "timeout_s": "int"})
    with headwater.connect(bootstrap, views=server.url) as client:
        client.admin.topics.create(odd.topic, partitions=1, replicas=1)
        client.admin.views.define(odd)
        receipt = Changelog(client, odd).put({"self": "a", "timeout_s": 7})
        while odd.name not in [each.name for each in client.views.list() if each.as_of]:
            pass
        wait = ("--wait-for", f"{receipt.topic}/0/{receipt.offset}")
        result = view("get", odd.name, "a", "7", *wait, "--json")
        assert json.loads(result.out)["row"] == {"self": "a", "timeout_s": 7}
        client.admin.views.drop(odd.name)
