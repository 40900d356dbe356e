"""A server of views that is away for a while, or is none: what its clients do and say.

What answers here stands for whatever is at the address: a proxy, a server that is about to stop.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from headwater.client.view import Views
from headwater.client.view_address import find_view_address
from headwater.errors import HeadwaterError, InvalidRequest, Unavailable

VIEW = {
    "name": "v",
    "comment": "",
    "state": "following",
    "reason": "",
    "as_of": {"0": 1},
    "lag_records": 0,
    "lag_seconds": 0.0,
    "rejected": 0,
    "topic": "v",
    "key": ["id"],
    "columns": [{"name": "id", "type": "bigint", "nullable": False}],
    "pipeline": "",
    "version": 1,
    "indexes": [],
    "rows": 1,
}
CHANGE = {"kind": "upsert", "key": {"id": 7}, "row": {"id": 7}, "partition": 0, "offset": 0}
NOT_NOW = {"kind": "Unavailable", "what": "the view is away", "hint": "", "retriable": True}


def event(kind: str, data: Any, event_id: str = "0:1") -> bytes:
    return f"id: {event_id}\nevent: {kind}\ndata: {json.dumps(data)}\n\n".encode()


class Answers:
    """What is answered to each attempt to subscribe, in order; the last one again and again."""

    def __init__(self, *streams: tuple[int, bytes], described: bytes | None = None) -> None:
        self.streams = list(streams)
        self.described = json.dumps(VIEW).encode() if described is None else described
        self.last_ids: list[str | None] = []

    def to(self, path: str, last_id: str | None) -> tuple[int, bytes]:
        if "subscribe" not in path:
            return 200, self.described
        self.last_ids.append(last_id)
        return self.streams.pop(0) if len(self.streams) > 1 else self.streams[0]


@contextmanager
def answering(answers: Answers, *, timeout_s: float = 5.0) -> Iterator[Views]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, content = answers.to(self.path, self.headers["Last-Event-ID"])
            self.send_response(status)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            with Views(
                find_view_address(f"http://127.0.0.1:{server.server_port}"), "", timeout_s
            ) as views:
                yield views
        finally:
            server.shutdown()
            thread.join()


def test_a_stream_that_cannot_go_on_just_now_is_asked_for_again_after_the_last_change() -> None:
    answers = Answers(
        (200, event("change", CHANGE, "0:1") + event("failed", NOT_NOW)),
        (503, json.dumps({"error": NOT_NOW}).encode()),
        (200, event("change", {**CHANGE, "offset": 1}, "0:2")),
    )
    with answering(answers) as views, views.view("v").subscribe() as changes:
        found = iter(changes)
        assert [next(found).id, next(found).id] == ["0:1", "0:2"]
    assert answers.last_ids[:3] == [None, "0:1", "0:1"]


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_proxy_whose_server_is_away_is_asked_again(status: int) -> None:
    answers = Answers(
        (200, event("change", CHANGE, "0:1")),
        (status, b"<html>bad gateway</html>"),
        (200, event("change", CHANGE, "0:2")),
    )
    with answering(answers) as views, views.view("v").subscribe() as changes:
        found = iter(changes)
        assert [next(found).id, next(found).id] == ["0:1", "0:2"]


@pytest.mark.parametrize("stream", [b"", event("failed", NOT_NOW)])
def test_streams_that_end_at_once_are_not_asked_for_without_a_pause_and_not_for_ever(
    stream: bytes,
) -> None:
    answers = Answers((200, stream))
    with (
        answering(answers, timeout_s=0.5) as views,
        views.view("v").subscribe() as changes,
        pytest.raises(Unavailable),
    ):
        next(iter(changes))
    assert len(answers.last_ids) < 10


def test_what_is_no_server_of_views_is_said_in_one_sentence() -> None:
    with (
        answering(Answers((200, b""), described=b"<html>welcome</html>")) as views,
        pytest.raises(HeadwaterError, match="is not a server of views"),
    ):
        views.list()


@pytest.mark.parametrize("token", ["secret\n", " secret", "two\r\nlines"])
def test_a_token_that_cannot_be_sent_is_refused(token: str) -> None:
    with pytest.raises(InvalidRequest, match="characters that cannot be sent"):
        Views(find_view_address("http://127.0.0.1:1"), token)
