"""Who may ask, and how much at once: before a request reaches a route.

Without a token the server listens on loopback only, and then a web page in a browser on this machine is
the one stranger left: it is kept out by the names in `Host` and `Origin`.
"""

import asyncio
import hmac
import re
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final
from urllib.parse import urlsplit

from headwater.config import is_loopback
from headwater.errors import InvalidRequest, TimedOut, Unauthorized
from headwater.serve.failures import answer_and_close, answer_to

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

OPEN_PATHS: Final = ("/v1/health",)
BODY_WITHIN_S: Final = 30.0
_BEARER: Final = re.compile(rb"\Abearer +", re.IGNORECASE)


class Guard:
    """ASGI middleware."""

    def __init__(self, app: App, *, token: str, max_request_bytes: int) -> None:
        self._app = app
        self._token = token.encode()
        self._max_request_bytes = max_request_bytes

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await answer_to(refusal)(scope, receive, send)
            return
        try:
            async with asyncio.timeout(BODY_WITHIN_S):
                body = await self._body(receive)
        except TimeoutError:
            too_slow = TimedOut(f"the body did not arrive within {BODY_WITHIN_S:g} s")
            await answer_and_close(too_slow, 408)(scope, receive, send)
            return
        if body is None:
            too_large = InvalidRequest(f"the body is larger than {self._max_request_bytes} bytes")
            await answer_and_close(too_large, 413)(scope, receive, send)
        else:
            await self._app(scope, _Replay(body, receive), send)

    async def _body(self, receive: Receive) -> bytes | None:
        """All of it, or None as soon as it is too large."""
        body = b""
        while len(body) <= self._max_request_bytes:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body", False):
                return body if len(body) <= self._max_request_bytes else None
        return None

    def _refusal(
        self, scope: MutableMapping[str, Any], headers: dict[bytes, bytes]
    ) -> Unauthorized | None:
        if self._token:
            given = _BEARER.sub(b"", headers.get(b"authorization", b"")).strip()
            is_known = hmac.compare_digest(given, self._token)
            if is_known or scope["path"] in OPEN_PATHS:
                return None
            return Unauthorized(
                "this server wants a token", hint="send: Authorization: Bearer TOKEN"
            )
        host, origin = _host_in(b"//" + headers.get(b"host", b"")), headers.get(b"origin")
        if not is_loopback(host) or (origin is not None and not is_loopback(_host_in(origin))):
            return Unauthorized(
                "without a token only this machine is served, by the name localhost or 127.0.0.1",
                hint="set HEADWATER_VIEWS_TOKEN to serve others",
            )
        return None


def _host_in(url: bytes) -> str:
    """Empty if there is none, or it makes no sense."""
    try:
        return urlsplit(url.decode("latin-1")).hostname or ""
    except ValueError:
        return ""


class _Replay:
    """`receive` for an application whose body has been read already."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        body, self._body = self._body, None
        if body is None:
            return await self._receive()
        return {"type": "http.request", "body": body, "more_body": False}
