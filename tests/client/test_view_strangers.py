"""What answers is not a server of views, or what is asked makes no sense: one sentence each."""

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from headwater.cli.main import run
from headwater.client.view import Views
from headwater.client.view_address import find_view_address
from headwater.errors import HeadwaterError, InvalidRequest, NotFound

ANSWERS = [b"{}", b"[]", b"7", b"null", b'{"views": 7, "name": "x"}', b"<html>"]


class Stranger(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    content = b""

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.content)))
        self.end_headers()
        self.wfile.write(self.content)

    do_POST = do_GET  # noqa: N815

    def log_message(self, *_: object) -> None: ...


@pytest.fixture(params=ANSWERS, ids=repr)
def stranger(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a server that answers everything with this."""
    handler = type("Handler", (Stranger,), {"content": request.param})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


QUESTIONS: dict[str, Callable[[Views], object]] = {
    "list": lambda views: views.list(),
    "query": lambda views: views.query("SELECT 1"),
    "describe": lambda views: views.view("x").describe(),
    "get": lambda views: views.view("x").get(id=1),
    "rows": lambda views: list(views.view("x").rows()),
    "subscribe": lambda views: views.view("x").subscribe(),
}


@pytest.mark.parametrize("question", QUESTIONS.values(), ids=QUESTIONS)
def test_another_server_is_called_what_it_is(
    stranger: str, question: Callable[[Views], object]
) -> None:
    with (
        Views(find_view_address(stranger)) as views,
        pytest.raises(HeadwaterError, match=f"answers at {stranger} is not a server of views"),
    ):
        question(views)


@pytest.mark.parametrize("stranger", [b"{}"], indirect=True)
@pytest.mark.parametrize("command", ["list", "describe x", "query SELECT", "watch x", "get x 1"])
def test_a_command_says_so_too(
    stranger: str, command: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["view", *command.split(), "--url", stranger]) == 1
    assert capfd.readouterr().err.startswith("error: what answers at http://127.0.0.1:")


@pytest.mark.parametrize("name", ["", "/", "a/b"])
@pytest.mark.parametrize("stranger", [b"{}"], indirect=True)
def test_what_can_be_no_name_is_no_view(stranger: str, name: str) -> None:
    with Views(find_view_address(stranger)) as views:
        view = views.view(name)
        for ask in (view.describe, view.pause, lambda: list(view.rows()), view.subscribe):
            with pytest.raises(NotFound, match=f"there is no view '{name}'"):
                ask()


@pytest.mark.parametrize("timeout_s", [float("nan"), float("inf"), -1.0, -20.0])
@pytest.mark.parametrize("stranger", [b"{}"], indirect=True)
def test_a_wait_that_is_no_time_is_one_sentence(
    stranger: str, timeout_s: float, capfd: pytest.CaptureFixture[str]
) -> None:
    address = find_view_address(stranger)
    with Views(address) as views, pytest.raises(InvalidRequest, match="timeout_s is"):
        views.query("SELECT 1", timeout_s=timeout_s)
    with pytest.raises(InvalidRequest, match="timeout_s is"):
        Views(address, timeout_s=timeout_s)
    waiting = ["--wait-for", "orders/0/1", "--timeout", str(timeout_s)]
    assert run(["view", "query", "SELECT 1", *waiting, "--url", stranger]) == 2
    assert "Traceback" not in capfd.readouterr().err
