"""HTTP connections with bounds: on their number, and on size and time of the head of a request."""

import asyncio
import json
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from headwater.errors import InvalidRequest, Unavailable
from headwater.serve.failures import answer_and_close, content_of

MAX_HEAD_BYTES: Final = 128 << 10
MAX_URL_BYTES: Final = (64 << 10) - 1
"""What the parser can take apart."""
HEAD_WITHIN_S: Final = 30.0
_FOR_WHAT_IS_LONG: Final = "what is that long goes into a query: it is sent as a body"


class BoundedHttp(HttpToolsProtocol):
    """Uvicorn takes heads of any size, waits for them for ever, and has refusals of its own."""

    _head_bytes = 0
    _is_in_head = True
    _deadline: asyncio.TimerHandle | None = None

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        # Uvicorn itself would answer in plain text.
        self._most_connections, self.limit_concurrency = self.limit_concurrency, None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._met_deadline()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_in_head:
            self._expect_head()
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self._refuse(
                    f"the head of the request is larger than {MAX_HEAD_BYTES} bytes",
                    _FOR_WHAT_IS_LONG,
                )
                return
        super().data_received(data)

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        self._met_deadline()
        app, most = self.app, self._most_connections
        if most is not None and len(self.connections) > most:
            too_many = Unavailable(f"all {most} connections are taken", hint="ask again later")
            self.app = answer_and_close(too_many, 503)
        super().on_headers_complete()
        self.app = app

    def on_message_complete(self) -> None:
        """The next request on this connection; between them the keep-alive timeout counts."""
        self._is_in_head, self._head_bytes = True, 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """What cannot be taken apart."""
        if len(self.url) > MAX_URL_BYTES:
            too_long = f"the address of the request is larger than {MAX_URL_BYTES} bytes"
            self._refuse(too_long, _FOR_WHAT_IS_LONG)
        else:
            self._refuse(msg.rstrip(".").lower(), "send HTTP/1.1; see /openapi.json")

    def _refuse(self, what: str, hint: str) -> None:
        """In the form of all errors."""
        body = json.dumps(content_of(InvalidRequest(what, hint=hint))).encode()
        head = (
            "HTTP/1.1 400 Bad Request\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()

    def _expect_head(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_WITHIN_S, self.transport.close)

    def _met_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
