"""Who is let in: loopback without a token, others only with one; and no request without limits."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import headwater
from headwater.errors import Conflict, InvalidRequest, Unauthorized, Unavailable
from headwater.serve import guard, protocol, run
from headwater.testing import Broker, ViewServer
from serve.conftest import Http


@pytest.fixture(scope="module")
def locked(broker: Broker) -> Iterator[ViewServer]:
    with ViewServer(broker.bootstrap, token="secret", max_request_bytes=1000) as running:
        yield running


@pytest.mark.parametrize("address", ["0.0.0.0:0", "[::]:0", "192.0.2.1:9090", "example.com:80"])
def test_beyond_loopback_a_token_is_needed(broker: Broker, address: str) -> None:
    with pytest.raises(InvalidRequest, match=r"no token is set .*HEADWATER_VIEWS_TOKEN"):
        ViewServer(broker.bootstrap, http=address).start()


def test_with_a_token_every_address_can_be_served(broker: Broker) -> None:
    with ViewServer(broker.bootstrap, http="0.0.0.0:0", token="secret") as server:
        url = server.url.replace("0.0.0.0", "127.0.0.1")
        assert Http(url, token="secret").get("/views")[0] == 200
        assert Http(url).get("/views")[0] == 401


@pytest.mark.parametrize("token", ["", "secre", "secret2", "SECRET", "é"])
def test_a_wrong_token_is_refused_and_learns_nothing(locked: ViewServer, token: str) -> None:
    given = {"Authorization": f"Bearer {token}"} if token else {}
    for path in ("/v1/views", "/v1/views/x", "/v1/nowhere", "/openapi.json"):
        status, answer = Http(locked.url).ask("GET", path, headers=given)
        assert (status, answer["error"]["kind"]) == (401, "Unauthorized")
    assert Http(locked.url).get("/health")[0] == 200


def test_the_client_sends_its_token(
    broker: Broker, locked: ViewServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        headwater.connect(broker.bootstrap, views=locked.url) as client,
        pytest.raises(Unauthorized, match="wants a token"),
    ):
        client.views.list()
    monkeypatch.setenv("HEADWATER_VIEWS_TOKEN", "secret")
    with headwater.connect(broker.bootstrap, views=locked.url) as client:
        assert client.views.list() == []


def test_a_token_may_have_any_letters_and_its_scheme_any_case(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADWATER_VIEWS_TOKEN", "schlüssel→")
    with (
        ViewServer(broker.bootstrap, token="schlüssel→") as server,
        headwater.connect(broker.bootstrap, views=server.url) as client,
    ):
        assert client.views.list() == []
    with ViewServer(broker.bootstrap, token="secret") as server:
        for scheme, status in (("bearer", 200), ("BEARER", 200), ("Basic", 401)):
            headers = {"Authorization": f"{scheme} secret"}
            assert Http(server.url).ask("GET", "/v1/views", headers=headers)[0] == status


@pytest.mark.parametrize("token", ["secret\n", " ", "\t"])
def test_a_token_that_no_request_could_bring_is_refused(broker: Broker, token: str) -> None:
    with pytest.raises(InvalidRequest, match="characters that cannot be sent"):
        ViewServer(broker.bootstrap, token=token).start()


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "[::1"},
        {"Origin": "http://[::1"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "192.0.2.7:9090"},
        {"Host": ""},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
    ],
)
def test_a_web_page_in_this_machines_browser_is_kept_out(
    http_client: Http, headers: dict[str, str]
) -> None:
    assert http_client.ask("GET", "/v1/views", headers=headers)[0] == 401


@pytest.mark.parametrize("headers", [{"Host": "localhost"}, {"Origin": "http://localhost:8000"}])
def test_this_machine_by_its_names_is_let_in(http_client: Http, headers: dict[str, str]) -> None:
    assert http_client.ask("GET", "/v1/views", headers=headers)[0] == 200


def test_a_body_that_is_too_large_is_refused_before_it_is_read(locked: ViewServer) -> None:
    client = Http(locked.url, token="secret")
    status, answer = client.query("SELECT " + "1," * 600 + "1")
    assert status == 413
    assert "larger than 1000 bytes" in answer["error"]["what"]


def test_a_body_without_a_length_is_refused_once_it_is_too_large(locked: ViewServer) -> None:
    host, _, port = locked.url.removeprefix("http://").rpartition(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        head = "POST /v1/query HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\n"
        kind = "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
        connection.sendall(f"{head}{kind}".encode())
        connection.sendall(b"400\r\n" + b"x" * 0x400 + b"\r\n")
        assert connection.recv(1000).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize(
    "raw",
    [
        b"\x00\xff\xfe garbage\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET /v1/views HTTP/1.1\r\nContent-Length: -5\r\nHost: localhost\r\n\r\n",
        b"GET /v1/views HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 200_000 + b"\r\n\r\n",
        b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ],
)
def test_garbage_ends_its_own_connection_only(http_client: Http, raw: bytes) -> None:
    host, _, port = http_client.host.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(raw)
        answer = connection.recv(100)
        assert not answer or answer.split()[1] in (b"400", b"401", b"404", b"413", b"414", b"431")
    assert http_client.get("/views")[0] == 200


def answer_of(url: str, raw: bytes, *, then: bytes = b"") -> bytes:
    """Everything until the server closes the connection; `then` is sent behind the first answer."""
    host, _, port = url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        connection.sendall(raw)
        answer = connection.recv(65536)
        if then:
            connection.sendall(then)
        while some := connection.recv(65536):
            answer += some
    return answer


def test_more_connections_than_are_taken_are_told_to_ask_again(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "_OTHER_CONNECTIONS", 1)
    with ViewServer(broker.bootstrap, max_subscribers=1) as small:
        host, _, port = small.url.removeprefix("http://").partition(":")
        silent = [socket.create_connection((host, int(port)), timeout=20) for _ in range(2)]
        for each in silent:  # it has them once it has answered
            each.sendall(b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert each.recv(65536).startswith(b"HTTP/1.1 200")
        status, content = Http(small.url).get("/health")
        assert (status, content["error"]["kind"]) == (503, "Unavailable")
        assert content["error"]["what"] == "all 2 connections are taken"
        for each in silent:
            each.close()


def test_garbage_is_not_said_to_be_too_long(http_client: Http) -> None:
    twice = b"GET /v1/views HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"
    answer = answer_of(f"http://{http_client.host}", twice)
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"that long" not in answer


def test_a_body_that_never_comes_is_not_waited_for(
    http_client: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard, "BODY_WITHIN_S", 0.2)
    head = b"POST /v1/query HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"
    answer = answer_of(f"http://{http_client.host}", head)
    assert answer.startswith(b"HTTP/1.1 408")
    assert b"the body did not arrive within 0.2 s" in answer


def test_a_second_head_that_never_ends_is_not_waited_for_either(
    http_client: Http, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "HEAD_WITHIN_S", 0.2)
    head = b"GET /v1/health HTTP/1.1\r\nHost: localhost\r\n"
    answer = answer_of(f"http://{http_client.host}", head + b"\r\n", then=head)
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("path", ["/v1/views/", "/v1//views", "/v1/views/%2e%2e%2f", "/v1/", "/"])
def test_what_is_no_route_is_answered_as_an_error(http_client: Http, path: str) -> None:
    status, answer = http_client.ask("GET", path)
    assert (status, answer["error"]["kind"]) == (404, "NotFound")


def test_two_servers_do_not_share_a_directory(broker: Broker, tmp_path: Path) -> None:
    with (
        ViewServer(broker.bootstrap, data=tmp_path),
        pytest.raises(Conflict, match="another server keeps its views"),
    ):
        ViewServer(broker.bootstrap, data=tmp_path).start()


def test_an_address_that_is_taken_is_one_sentence(broker: Broker, server: ViewServer) -> None:
    taken = server.url.removeprefix("http://")
    with pytest.raises(Unavailable, match=f"cannot listen on {taken}"):
        ViewServer(broker.bootstrap, http=taken).start()
