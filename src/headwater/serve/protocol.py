"""HTTP connections with bounds: the head of a request has a largest size and a longest time."""

import asyncio
import json
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from headwater.errors import InvalidRequest
from headwater.serve.failures import content_of

MAX_HEAD_BYTES: Final = 128 << 10
MAX_URL_BYTES: Final = (64 << 10) - 1
"""What the parser can take apart."""
HEAD_WITHIN_S: Final = 30.0


class BoundedHttp(HttpToolsProtocol):
    """Uvicorn's protocol takes heads of any size, and waits for them for ever."""

    _head_bytes = 0
    _is_in_head = True
    _deadline: asyncio.TimerHandle | None = None

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
                self.send_400_response(
                    f"the head of the request is larger than {MAX_HEAD_BYTES} bytes"
                )
                return
        super().data_received(data)

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        self._met_deadline()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The next request on this connection; between them the keep-alive timeout counts."""
        self._is_in_head, self._head_bytes = True, 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """In the form of all errors."""
        if len(self.url) > MAX_URL_BYTES:
            msg = f"the address of the request is larger than {MAX_URL_BYTES} bytes"
        refusal = InvalidRequest(
            msg.rstrip(".").lower(),
            hint="what is that long goes into a query: it is sent as a body",
        )
        body = json.dumps(content_of(refusal)).encode()
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
